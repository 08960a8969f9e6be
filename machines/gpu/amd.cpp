// AMD's HIP runtime, libamdhip64. Written from its documentation and headers (5.2 to 7.1) and never run: there was
// no AMD GPU at hand.
#include <fmt/format.h>

#include <cstring>

#include "machines/gpu/amd_api.h"

namespace tokitai::gpu {
namespace {

using namespace amd_runtime;

// HIP has no context to hold: the device's number stands for it.
void* context_of(int index) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(index) + 1);  // NOLINT(performance-no-int-to-ptr)
}
int index_of(void* context) { return static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1; }

class Amd final : public CommonDriver<Api> {
 public:
  using CommonDriver::CommonDriver;

  std::string_view prefix() const override { return "amd"; }
  Result<DeviceFacts> facts(int index) override;

  Error retain(int index, void*& context) override {
    context = context_of(index);
    void* before = nullptr;
    if (const Error e = enter(context, before); e != 0) return e;
    const Error started = api_.free(nullptr);  // starts the device
    leave(context, before);
    return started;
  }
  void release(int) override {}
  Error enter(void* context, void*& before) override {
    int device = 0;
    if (const Error e = api_.get_device(&device); e != 0) return e;
    before = context_of(device);
    return before == context ? 0 : api_.set_device(index_of(context));
  }
  void leave(void* context, void* before) override {
    if (before != context) static_cast<void>(api_.set_device(index_of(before)));
  }

  Error owner_of(void* stream, void*& context) override {
    if (api_.device_of == nullptr) return 0;
    int device = 0;
    const Error error = of_stream(api_.device_of(stream, &device));
    if (error == 0) context = context_of(device);
    return error;
  }

  Error allocate(void*& memory, std::size_t bytes) override { return api_.allocate(&memory, bytes); }
  Error free(void* memory) override { return api_.free(memory); }
  Error place(const void* pointer, Place& place) override;

  Error copy_in(void* device, const void* host, std::size_t bytes, void* stream) override {
    return api_.copy(device, host, bytes, kToDevice, stream);
  }
  Error copy_out(void* host, const void* device, std::size_t bytes, void* stream) override {
    return api_.copy(host, device, bytes, kToHost, stream);
  }
  Error copy_on_device(void* to, const void* from, std::size_t bytes, void* stream) override {
    return api_.copy(to, from, bytes, kOnDevice, stream);
  }
  Error fill(void* device, unsigned char byte, std::size_t bytes, void* stream) override {
    return api_.fill(device, byte, bytes, stream);
  }

  // A block may use all of its 64 KiB without asking. No clusters on AMD.
  Error permit(void*, int, int cluster) override { return cluster > 1 ? kNotSupported : 0; }
  std::size_t parameter_bytes(void*) override { return 0; }
  Error resident(int& count, void* function, const Grid& grid) override {
    if (grid.cluster > 1) return kNotSupported;
    return api_.resident(&count, function, grid.block, static_cast<std::size_t>(grid.shared_bytes));
  }
  Error launch(void* function, const Grid& g, const void* arguments, void* stream) override {
    if (g.cluster > 1 || (g.cooperative && api_.launch_cooperative == nullptr)) return kNotSupported;
    void* parameters[] = {const_cast<void*>(arguments)};
    const auto grid = static_cast<unsigned>(g.grid), block = static_cast<unsigned>(g.block),
               shared = static_cast<unsigned>(g.shared_bytes);
    return g.cooperative ? api_.launch_cooperative(function, grid, 1, 1, block, 1, 1, shared, stream, parameters)
                         : api_.launch(function, grid, 1, 1, block, 1, 1, shared, stream, parameters, nullptr);
  }

  std::string text(Error error) const override { return text(api_, error); }
  static std::string text(const Api& api, Error error) {
    const char *name = api.error_name(error), *words = api.error_string(error);
    return fmt::format("{}, {}", name != nullptr ? name : fmt::format("error {}", error),
                       words != nullptr ? words : "no description");
  }
  bool out_of_memory(Error error) const override { return error == 2; }
  bool fatal(Error error) const override {
    switch (error) {
      case 4:     // deinitialized
      case 53:    // a launch before failed
      case 214:   // uncorrectable memory error
      case 700:   // illegal address
      case 702:   // launch timeout
      case 709:   // context is destroyed
      case 710:   // assert
      case 719:   // launch failed
      case 999:   // unknown
      case 1052:  // the runtime below failed
      case 1053: return true;
      default: return false;
    }
  }

 private:
  static constexpr Error kNotSupported = 801;
};

// The struct of properties changed its layout between 5, 6 and 7. All of them begin with the device's name, and
// the architecture ("gfx942:sramecc+:xnack-") is the one other text in it that begins with gfx.
std::string architecture_in(const char* properties, std::size_t bytes) {
  for (std::size_t i = 256; i + 16 < bytes; ++i)
    if (std::memcmp(properties + i, "gfx", 3) == 0) {
      const std::string text(properties + i, strnlen(properties + i, 32));
      return text.substr(0, text.find(':'));
    }
  return {};
}

Result<DeviceFacts> Amd::facts(int index) {
  const auto refused = [&](const std::string& why) {
    return Status(Code::unavailable, fmt::format("amd:{}: {}", index, why));
  };
  if (index < 0 || index >= count_)
    return refused(count_ == 0 ? "the HIP runtime sees no device"
                               : fmt::format("no such device; the HIP runtime sees {}", count_));
  alignas(16) char properties[16384] = {};
  if (const Error e = api_.properties(properties, index); e != 0) return refused("hipGetDeviceProperties: " + text(e));
  DeviceFacts facts;
  facts.index = index;
  facts.architecture = architecture_in(properties, sizeof(properties));
  if (facts.architecture.empty()) return refused("the HIP runtime does not tell its architecture");
  char name[256] = {};
  if (const Error e = api_.device_name(name, sizeof(name) - 1, index); e != 0)
    return refused("hipDeviceGetName: " + text(e));
  facts.name = name;
  std::size_t bytes = 0;
  if (const Error e = api_.device_memory(&bytes, index); e != 0) return refused("hipDeviceTotalMem: " + text(e));
  facts.memory_bytes = static_cast<std::int64_t>(bytes);
  const auto attribute = [&](int which) { return CommonDriver::attribute(which, index); };
  facts.multiprocessors = attribute(kMultiprocessors);
  facts.l2_bytes = attribute(kL2Bytes);
  facts.shared_per_block = attribute(kSharedPerBlock);
  facts.warp = attribute(kWarpSize);
  facts.cooperative = attribute(kCooperativeLaunch) != 0 && api_.launch_cooperative != nullptr;
  // major * 10^7 + minor * 10^5 + patch
  facts.driver_version = fmt::format("{}.{}", version_ / 10000000, version_ / 100000 % 100);
  if (facts.multiprocessors == 0) return refused("the HIP runtime tells nothing of this device");
  return facts;
}

// A pageable host pointer is an error before 6.0 and of type 0 from then on, when the types were renumbered.
Error Amd::place(const void* pointer, Place& place) {
  place = {};
  PointerAttributes answer{};
  const Error error = api_.place(&answer, pointer);
  if (error == 1) {
    static_cast<void>(api_.last_error());  // the question was answered; nobody else shall find the error
    return 0;
  }
  if (error != 0) return error;
  const int type = version_ >= 60000000 ? answer.type : answer.type + 1;
  if (answer.managed != 0)
    place.kind = Place::managed;
  else if (type == 2)
    place.kind = Place::device;
  else if (type == 1)
    place.kind = Place::pinned;
  if (place.kind == Place::host) return 0;
  place.owner = answer.device;
  place.begin = static_cast<const std::byte*>(pointer);
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (place.kind == Place::device && api_.range(&begin, &bytes, const_cast<void*>(pointer)) == 0) {
    place.begin = static_cast<const std::byte*>(begin);
    place.bytes = bytes;
  }
  return 0;
}

Result<Driver*> open_amd() {
  auto library = Library::open("AMD HIP runtime", "TOKITAI_HIP_RUNTIME",
                               {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"});
  if (!library.ok()) return library.status();
  Api api{};
  find_symbols(library.value(), api);
  if (!library->missing().empty())
    return Status(Code::unavailable, fmt::format("{} is no HIP runtime of 5.0 or later: it lacks {}", library->name(),
                                                 library->missing()));
  const auto refused = [&](const char* call, Error error) {
    return Status(Code::unavailable, fmt::format("the HIP runtime {} does not start: {}: {}", library->name(), call,
                                                 Amd::text(api, error)));
  };
  if (const Error e = api.init(0); e != 0) return refused("hipInit", e);
  int version = 0, count = 0;
  if (const Error e = api.version(&version); e != 0) return refused("hipRuntimeGetVersion", e);
  if (const Error e = api.device_count(&count); e != 0) return refused("hipGetDeviceCount", e);
  if (count == 0) return Status(Code::unavailable, fmt::format("the HIP runtime {} sees no device", library->name()));
  return static_cast<Driver*>(new Amd(api, version, count));
}

}  // namespace

Result<Driver*> Driver::amd() {
  static const Result<Driver*> opened = open_amd();
  return opened;
}

}  // namespace tokitai::gpu

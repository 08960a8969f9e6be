// NVIDIA's driver, libcuda.
#include <fmt/format.h>

#include "machines/gpu/nvidia_api.h"

namespace tokitai::gpu {
namespace {

using namespace nvidia;

DevicePointer address(const void* p) { return reinterpret_cast<DevicePointer>(p); }
void* as_pointer(DevicePointer p) { return reinterpret_cast<void*>(p); }  // NOLINT(performance-no-int-to-ptr)

// A launch as the driver takes it. It points into itself, so it stays where it was made.
struct Configured {
  LaunchAttribute attributes[3]{};
  LaunchConfig config{};

  Configured(const Grid& g, void* stream) {
    unsigned count = 0;
    if (g.cluster > 1) {
      attributes[count].id = LaunchAttribute::cluster_dimension;
      attributes[count].value.dimension[0] = static_cast<unsigned>(g.cluster);
      attributes[count].value.dimension[1] = 1;
      attributes[count++].value.dimension[2] = 1;
    }
    if (g.cooperative) {
      attributes[count].id = LaunchAttribute::cooperative;
      attributes[count++].value.on = 1;
    }
    if (g.follows) {
      attributes[count].id = LaunchAttribute::programmatic_serialization;
      attributes[count++].value.on = 1;
    }
    config = {{static_cast<unsigned>(g.grid), 1, 1}, {static_cast<unsigned>(g.block), 1, 1},
              static_cast<unsigned>(g.shared_bytes), stream,
              count > 0 ? attributes : nullptr,      count};
  }
  Configured(const Configured&) = delete;
  Configured& operator=(const Configured&) = delete;
};

class Nvidia final : public CommonDriver<Api> {
 public:
  using CommonDriver::CommonDriver;

  std::string_view prefix() const override { return "cuda"; }
  Result<DeviceFacts> facts(int index) override;

  Error retain(int index, void*& context) override {
    int device = 0;
    const Error error = api_.device_get(&device, index);
    return error != 0 ? error : api_.retain(&context, device);
  }
  void release(int index) override {
    int device = 0;
    if (api_.device_get(&device, index) == 0) api_.release(device);
  }
  Error enter(void* context, void*& before) override {
    const Error error = api_.get_current(&before);
    return error != 0 || before == context ? error : api_.set_current(context);
  }
  void leave(void* context, void* before) override {
    if (before != nullptr && before != context) api_.set_current(before);
  }

  Error owner_of(void* stream, void*& context) override { return of_stream(api_.owner_of(stream, &context)); }

  Error allocate(void*& memory, std::size_t bytes) override {
    DevicePointer p = 0;
    const Error error = api_.allocate(&p, bytes);
    memory = as_pointer(p);
    return error;
  }
  Error free(void* memory) override { return api_.free(address(memory)); }
  Error place(const void* pointer, Place& place) override;

  Error copy_in(void* device, const void* host, std::size_t bytes, void* stream) override {
    return api_.copy_in(address(device), host, bytes, stream);
  }
  Error copy_out(void* host, const void* device, std::size_t bytes, void* stream) override {
    return api_.copy_out(host, address(device), bytes, stream);
  }
  Error copy_on_device(void* to, const void* from, std::size_t bytes, void* stream) override {
    return api_.copy_on_device(address(to), address(from), bytes, stream);
  }
  Error fill(void* device, unsigned char byte, std::size_t bytes, void* stream) override {
    return api_.fill(address(device), byte, bytes, stream);
  }

  Error permit(void* function, int shared_bytes, int cluster) override;
  std::size_t parameter_bytes(void* function) override {
    std::size_t offset = 0, bytes = 0;
    return api_.parameter != nullptr && api_.parameter(function, 0, &offset, &bytes) == 0 ? bytes : 0;
  }
  Error resident(int& count, void* function, const Grid& grid) override {
    if (grid.cluster == 1)
      return api_.resident(&count, function, grid.block, static_cast<std::size_t>(grid.shared_bytes));
    const Configured configured(grid, nullptr);
    return api_.resident_clusters(&count, function, &configured.config);
  }
  bool maps() const override { return api_.map != nullptr; }
  Error map(void* made, const Matrix& m) override {
    constexpr int kUnsigned8 = 0, kUnsigned16 = 1, kUnsigned32 = 2, kNone = 0, kSwizzle128 = 3, kPromote256 = 3;
    const std::uint32_t every[3] = {1, 1, 1};
    const int type = m.element_bytes == 1 ? kUnsigned8 : m.element_bytes == 2 ? kUnsigned16 : kUnsigned32;
    return api_.map(made, type, 3, m.data, m.size, m.stride, m.box, every, kNone, m.swizzled ? kSwizzle128 : kNone,
                    kPromote256, kNone);
  }
  Error launch(void* function, const Grid& grid, const void* arguments, void* stream) override {
    const Configured configured(grid, stream);
    void* parameters[] = {const_cast<void*>(arguments)};
    return api_.launch(&configured.config, function, parameters, nullptr);
  }

  std::string text(Error error) const override { return text(api_, error); }
  static std::string text(const Api& api, Error error) {
    const char *name = nullptr, *words = nullptr;
    api.error_name(error, &name);
    api.error_string(error, &words);
    return fmt::format("{}, {}", name != nullptr ? name : fmt::format("error {}", error),
                       words != nullptr ? words : "no description");
  }
  bool out_of_memory(Error error) const override { return error == 2; }
  bool fatal(Error error) const override {
    switch (error) {
      case 4:    // deinitialized
      case 46:   // device unavailable
      case 214:  // uncorrectable memory error
      case 220:  // uncorrectable NVLink error
      case 226:  // contained error
      case 700:  // illegal address
      case 702:  // launch timeout
      case 709:  // context is destroyed
      case 710:  // assert
      case 714:  // hardware stack error
      case 715:  // illegal instruction
      case 716:  // misaligned address
      case 717:  // invalid address space
      case 718:  // invalid program counter
      case 719:  // launch failed
      case 721:  // tensor memory leak
      case 911:  // external device
      case 999:  // unknown
        return true;
      default: return false;
    }
  }
};

Result<DeviceFacts> Nvidia::facts(int index) {
  const auto refused = [&](const std::string& why) {
    return Status(Code::unavailable, fmt::format("cuda:{}: {}", index, why));
  };
  if (index < 0 || index >= count_)
    return refused(count_ == 0 ? "the NVIDIA driver sees no device"
                               : fmt::format("no such device; the NVIDIA driver sees {}", count_));
  int device = 0;
  if (const Error e = api_.device_get(&device, index); e != 0) return refused("cuDeviceGet: " + text(e));
  DeviceFacts facts;
  facts.index = index;
  char name[256] = {};
  if (const Error e = api_.device_name(name, sizeof(name) - 1, device); e != 0)
    return refused("cuDeviceGetName: " + text(e));
  facts.name = name;
  std::size_t bytes = 0;
  if (const Error e = api_.device_memory(&bytes, device); e != 0) return refused("cuDeviceTotalMem: " + text(e));
  facts.memory_bytes = static_cast<std::int64_t>(bytes);
  const auto attribute = [&](int which) { return CommonDriver::attribute(which, device); };
  facts.capability = attribute(kCapabilityMajor) * 10 + attribute(kCapabilityMinor);
  facts.architecture = fmt::format("sm_{}", facts.capability);
  facts.multiprocessors = attribute(kMultiprocessors);
  facts.l2_bytes = attribute(kL2Bytes);
  facts.shared_per_block = attribute(kSharedPerBlockOptin);
  facts.warp = attribute(kWarpSize);
  facts.cooperative = attribute(kCooperativeLaunch) != 0;
  facts.clusters = attribute(kClusterLaunch) != 0;
  facts.driver_version = fmt::format("{}.{}", version_ / 1000, version_ % 1000 / 10);
  if (facts.capability == 0 || facts.multiprocessors == 0) return refused("the driver tells nothing of this device");
  return facts;
}

// A pageable host pointer answers with zeros, or on older drivers with an error.
Error Nvidia::place(const void* pointer, Place& place) {
  int which[] = {kMemoryType, kIsManaged, kDeviceOrdinal, kRangeStart, kRangeSize};
  unsigned type = 0, managed = 0;  // a bool on some drivers, so it starts as zeros
  int ordinal = -1;
  DevicePointer begin = 0;
  std::size_t bytes = 0;
  void* answers[] = {&type, &managed, &ordinal, &begin, &bytes};
  place = {};
  const Error error = api_.place(5, which, answers, address(pointer));
  if (error == 1) return 0;  // not memory the driver knows
  if (error != 0) return error;
  if (managed != 0)
    place.kind = Place::managed;
  else if (type == kTypeDevice)
    place.kind = Place::device;
  else if (type == kTypeHost)
    place.kind = Place::pinned;
  if (place.kind == Place::host) return 0;
  place.owner = ordinal;
  place.begin = static_cast<const std::byte*>(as_pointer(begin));
  place.bytes = bytes;
  return 0;
}

Error Nvidia::permit(void* function, int shared_bytes, int cluster) {
  int now = 0;
  if (const Error e = api_.get_attribute(&now, kMaxDynamicShared, function); e != 0) return e;
  if (shared_bytes > now)
    if (const Error e = api_.set_attribute(function, kMaxDynamicShared, shared_bytes); e != 0) return e;
  return cluster > kPortableClusterMost ? api_.set_attribute(function, kNonPortableCluster, 1) : 0;
}

Result<Driver*> open_nvidia() {
  auto library = Library::open("NVIDIA driver", "TOKITAI_CUDA_DRIVER", {"libcuda.so.1", "libcuda.so"});
  if (!library.ok()) return library.status();
  Api api{};
  find_symbols(library.value(), api);
  if (!library->missing().empty())
    return Status(Code::unavailable, fmt::format("{} is no NVIDIA driver of 11.8 or later: it lacks {}",
                                                 library->name(), library->missing()));
  const auto refused = [&](const char* call, Error error) {
    return Status(Code::unavailable, fmt::format("the NVIDIA driver {} does not start: {}: {}", library->name(), call,
                                                 Nvidia::text(api, error)));
  };
  constexpr Error kStub = 34;
  const Error started = api.init(0);
  if (started == kStub)
    return Status(Code::unavailable, fmt::format("{} is a stub to link against, not NVIDIA's driver", library->name()));
  if (started != 0) return refused("cuInit", started);
  int version = 0, count = 0;
  if (const Error e = api.version(&version); e != 0) return refused("cuDriverGetVersion", e);
  if (const Error e = api.device_count(&count); e != 0) return refused("cuDeviceGetCount", e);
  if (count == 0) return Status(Code::unavailable, fmt::format("the NVIDIA driver {} sees no device", library->name()));
  return static_cast<Driver*>(new Nvidia(api, version, count));
}

}  // namespace

Result<Driver*> Driver::nvidia() {
  static const Result<Driver*> opened = open_nvidia();
  return opened;
}

}  // namespace tokitai::gpu

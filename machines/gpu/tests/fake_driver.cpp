// A stand-in for libcuda.so.1, for tests on machines without a GPU (TOKITAI_CUDA_DRIVER names it). Device memory is
// the host's, and queued work is done when somebody waits, as late as it may be or in an order that is drawn
// (fake_streams.h): whoever counts on luck is found. Kernels known by name are done here; all others are handed to the
// test.
#include "machines/gpu/tests/fake_driver.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "machines/device/arguments.h"
#include "machines/device/product_shape.h"
#include "machines/gpu/nvidia_api.h"
#include "machines/gpu/tests/fake_streams.h"
#include "machines/gpu/tests/smoke_kernels.h"

namespace {

using tokitai::gpu::Smoke;
using tokitai::gpu::fake::Counts;
using tokitai::gpu::fake::Event;
using tokitai::gpu::fake::Item;
using tokitai::gpu::fake::Lock;
using tokitai::gpu::fake::Runner;
using tokitai::gpu::fake::Stream;
using tokitai::gpu::fake::Streams;
using tokitai::gpu::nvidia::LaunchAttribute;
using tokitai::gpu::nvidia::LaunchConfig;

constexpr int kInvalid = 1, kNoMemory = 2, kNoDevice = 101, kBadImage = 200, kBadContext = 201, kBadHandle = 400,
              kNotFound = 500, kFault = 700, kDestroyed = 709, kTooLarge = 720;
constexpr int kDevices = 2, kMultiprocessors = 4, kResident = 2;

struct Function {
  std::string name;
  int shared = 49152;  // the most dynamic shared memory a launch may ask for
};
struct Allocation {
  std::size_t bytes;
  int device;
  bool pinned;
};

struct State {
  Streams streams;
  std::mutex& mutex = streams.mutex;
  int& error = streams.error;
  std::map<char*, Allocation> memory;
  std::map<void*, std::shared_ptr<Event>> events;
  std::map<std::string, Function> functions;
  std::atomic<std::size_t> total = std::size_t{512} << 20;
  std::atomic<Runner> runner = nullptr;
  Counts counts;
  Stream* defaults[kDevices] = {streams.add(0), streams.add(1)};  // what a null handle means
};
State& state() {
  static State* all = new State;
  return *all;
}
char contexts[kDevices];
thread_local char* current = nullptr;

const std::pair<char* const, Allocation>* find(const void* p) {
  auto& memory = state().memory;
  auto after = memory.upper_bound(static_cast<char*>(const_cast<void*>(p)));
  if (after == memory.begin()) return nullptr;
  --after;
  return static_cast<const char*>(p) < after->first + after->second.bytes ? &*after : nullptr;
}
bool within(const void* p, std::size_t bytes, bool pinned) {
  const auto* found = find(p);
  return found != nullptr && found->second.pinned == pinned &&
         static_cast<const char*>(p) + bytes <= found->first + found->second.bytes;
}

// The stream that a handle means, or null: 1 is the default one, too.
Stream* stream_at(void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number <= 1) return current == nullptr ? nullptr : state().defaults[current - contexts];
  auto* stream = static_cast<Stream*>(handle);
  return state().streams.has(stream) ? stream : nullptr;
}
int queue(void* handle, Item item) {
  if (current == nullptr) return kBadContext;
  if (state().error != 0) return state().error;
  Stream* stream = stream_at(handle);
  if (stream == nullptr) return kBadHandle;
  stream->work.push_back(std::move(item));
  return 0;
}
std::shared_ptr<Event> event_at(void* handle) {
  const auto found = state().events.find(handle);
  return found == state().events.end() ? nullptr : found->second;
}

void* pointer(unsigned long long p) { return reinterpret_cast<void*>(p); }

void smoke(const std::string& name, const Smoke& a, const LaunchConfig& config, int cluster) {
  const int grid = static_cast<int>(config.grid[0]), block = static_cast<int>(config.block[0]);
  if (name == "smoke_scale")
    for (long long i = 0; i < a.n; ++i) a.out[i] = a.in[i] * a.factor;
  if (name == "smoke_shared")
    for (int i = 0; i < block; ++i) a.out[i] = a.in[block - 1 - i];
  for (int i = 0; i < grid && name == "smoke_meet"; ++i) a.out[i] = static_cast<float>(grid);
  for (int i = 0; i < grid && name == "smoke_cluster"; ++i) a.out[i] = static_cast<float>(i % cluster + 100 * cluster);
  if (name == "smoke_fault") state().error = kFault;
}

int cluster_of(const LaunchConfig& config) {
  for (unsigned i = 0; i < config.attribute_count; ++i)
    if (config.attributes[i].id == LaunchAttribute::cluster_dimension)
      return static_cast<int>(config.attributes[i].value.dimension[0]);
  return 1;
}
bool cooperative(const LaunchConfig& config) {
  for (unsigned i = 0; i < config.attribute_count; ++i)
    if (config.attributes[i].id == LaunchAttribute::cooperative) return config.attributes[i].value.on != 0;
  return false;
}
bool is_smoke(const std::string& name) { return name.starts_with("smoke_"); }

int allocate(void** p, std::size_t bytes, bool pinned) {
  State& s = state();
  const Lock lock(s.mutex);
  if (current == nullptr) return kBadContext;
  if (s.error != 0) return s.error;
  std::size_t used = 0;
  for (const auto& [begin, a] : s.memory) used += a.pinned ? 0 : a.bytes;
  if (!pinned && bytes > s.total - used) return kNoMemory;
  *p = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (*p == nullptr) return kNoMemory;
  std::memset(*p, 0xdb, bytes);
  s.memory[static_cast<char*>(*p)] = {bytes, static_cast<int>(current - contexts), pinned};
  ++s.counts.allocations;
  return 0;
}
int give_back(void* p, bool pinned) {
  State& s = state();
  Lock lock(s.mutex);
  s.streams.finish(nullptr, lock);
  const auto found = s.memory.find(static_cast<char*>(p));
  if (found == s.memory.end() || found->second.pinned != pinned) return kInvalid;
  s.memory.erase(found);
  std::free(p);
  return s.error;
}

}  // namespace

extern "C" {

void fake_runner(Runner runner) { state().runner = runner; }
void fake_counts(Counts* counts) {
  const Lock lock(state().mutex);
  *counts = state().counts;
}
void fake_memory(std::size_t bytes) { state().total = bytes; }
void fake_schedule(unsigned seed) {
  const Lock lock(state().mutex);
  state().streams.schedule(seed);
}
void fake_recording(void* stream, bool recording) {
  const Lock lock(state().mutex);
  if (Stream* found = stream_at(stream)) found->recording = recording;
}

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
int cuGetErrorString(int, const char** text) { return *text = "as the test wanted", 0; }
int cuGetErrorName(int error, const char** text) {
  *text = error == kNoMemory ? "FAKE_OUT_OF_MEMORY" : error == kFault ? "FAKE_ILLEGAL_ADDRESS" : "FAKE_ERROR";
  return 0;
}
int cuDeviceGetCount(int* n) { return *n = kDevices, 0; }
int cuDeviceGet(int* device, int index) { return *device = index, index < kDevices ? 0 : kNoDevice; }
int cuDeviceGetName(char* name, int bytes, int) { return std::strncpy(name, "Fake GPU", std::size_t(bytes)), 0; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = state().total, 0; }
int cuDeviceGetAttribute(int* value, int which, int) {
  const std::map<int, int> values = {{10, 32}, {16, kMultiprocessors}, {38, 1 << 20}, {75, 9}, {76, 0},
                                     {95, 1},  {97, 232448},           {120, 1}};
  const auto found = values.find(which);
  return found == values.end() ? kInvalid : (*value = found->second, 0);
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  const Lock lock(state().mutex);
  ++state().counts.contexts;
  return *context = contexts + device, 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  const Lock lock(state().mutex);
  return --state().counts.contexts, 0;
}
int cuCtxGetCurrent(void** context) { return *context = current, 0; }
int cuCtxSetCurrent(void* context) { return current = static_cast<char*>(context), 0; }
int cuMemAlloc_v2(unsigned long long* p, std::size_t bytes) {
  void* memory = nullptr;
  const int error = allocate(&memory, bytes, false);
  *p = reinterpret_cast<unsigned long long>(memory);
  return error;
}
int cuMemFree_v2(unsigned long long p) { return give_back(pointer(p), false); }
int cuMemHostAlloc(void** p, std::size_t bytes, unsigned) { return allocate(p, bytes, true); }
int cuMemFreeHost(void* p) { return give_back(p, true); }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  State& s = state();
  const Lock lock(s.mutex);
  *total = *free = s.total;
  for (const auto& [begin, a] : s.memory) *free -= a.pinned ? 0 : a.bytes;
  return s.error;
}
int cuPointerGetAttributes(unsigned, int*, void** answers, unsigned long long p) {
  const Lock lock(state().mutex);
  const auto* found = find(pointer(p));
  *static_cast<unsigned*>(answers[0]) = found == nullptr ? 0 : found->second.pinned ? 1 : 2;
  *static_cast<int*>(answers[2]) = found == nullptr ? -2 : found->second.device;
  *static_cast<char**>(answers[3]) = found == nullptr ? nullptr : found->first;
  *static_cast<std::size_t*>(answers[4]) = found == nullptr ? 0 : found->second.bytes;
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream) {
  const Lock lock(state().mutex);
  if (!within(pointer(to), bytes, false) || !within(from, bytes, true)) return kInvalid;
  ++state().counts.copies_in;
  return queue(stream, {.work = [=] { std::memcpy(pointer(to), from, bytes); }});
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream) {
  const Lock lock(state().mutex);
  if (!within(to, bytes, true) || !within(pointer(from), bytes, false)) return kInvalid;
  ++state().counts.copies_out;
  return queue(stream, {.work = [=] { std::memcpy(to, pointer(from), bytes); }});
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
  const Lock lock(state().mutex);
  if (!within(pointer(to), bytes, false) || !within(pointer(from), bytes, false)) return kInvalid;
  return queue(stream, {.work = [=] { std::memmove(pointer(to), pointer(from), bytes); }});
}
int cuMemsetD8Async(unsigned long long to, unsigned char byte, std::size_t bytes, void* stream) {
  const Lock lock(state().mutex);
  if (!within(pointer(to), bytes, false)) return kInvalid;
  ++state().counts.fills;
  return queue(stream, {.work = [=] { std::memset(pointer(to), byte, bytes); }});
}
int cuStreamCreate(void** stream, unsigned) {
  const Lock lock(state().mutex);
  if (current == nullptr) return kBadContext;
  *stream = state().streams.add(static_cast<int>(current - contexts));
  ++state().counts.streams;
  return state().error;
}
int cuStreamDestroy_v2(void* stream) {
  Lock lock(state().mutex);
  auto* s = static_cast<Stream*>(stream);
  if (!state().streams.has(s)) return kBadHandle;
  state().streams.remove(s, lock);
  --state().counts.streams;
  return 0;
}
int cuStreamSynchronize(void* stream) {
  Lock lock(state().mutex);
  const Stream* s = stream_at(stream);
  if (s == nullptr) return kBadHandle;
  ++state().counts.waits;
  state().streams.finish(s, lock);
  return state().error;
}
int cuCtxSynchronize() {
  Lock lock(state().mutex);
  ++state().counts.waits;
  state().streams.finish(nullptr, lock);
  return state().error;
}
int cuStreamGetCtx(void* stream, void** context) {
  const Lock lock(state().mutex);
  const Stream* s = stream_at(stream);
  if (s == nullptr) return kDestroyed;  // as some drivers say
  return *context = contexts + s->device, 0;
}
int cuStreamGetId(void* stream, unsigned long long* number) {
  const Lock lock(state().mutex);
  const Stream* s = stream_at(stream);
  return s == nullptr ? kBadHandle : (*number = s->number, 0);
}
int cuStreamIsCapturing(void* stream, int* answer) {
  const Lock lock(state().mutex);
  const Stream* s = stream_at(stream);
  return s == nullptr ? kDestroyed : (*answer = s->recording ? 1 : 0, 0);
}
int cuEventCreate(void** event, unsigned) {
  const Lock lock(state().mutex);
  if (current == nullptr) return kBadContext;
  auto made = std::make_shared<Event>();
  *event = made.get();
  state().events[made.get()] = std::move(made);
  ++state().counts.events;
  return 0;
}
int cuEventDestroy_v2(void* event) {  // what waits for it goes on waiting
  const Lock lock(state().mutex);
  if (state().events.erase(event) == 0) return kBadHandle;
  --state().counts.events;
  return 0;
}
int cuEventRecord(void* event, void* stream) {
  const Lock lock(state().mutex);
  auto e = event_at(event);
  if (e == nullptr) return kBadHandle;
  e->stream = stream_at(stream);
  const long mark = ++e->recorded;
  return queue(stream, {.work = [=] {
                 e->reached = mark;
                 e->when = std::chrono::steady_clock::now();
               }});
}
int cuEventSynchronize(void* event) {
  Lock lock(state().mutex);
  const auto e = event_at(event);
  if (e == nullptr) return kBadHandle;
  if (e->recorded > e->reached) state().streams.reach(e, lock);
  return state().error;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  const Lock lock(state().mutex);
  const auto e = event_at(event);
  if (e == nullptr) return kBadHandle;
  if (e->recorded == e->reached || e->stream == stream_at(stream)) return state().error;
  return queue(stream, {.event = e, .mark = e->recorded});
}
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const Lock lock(state().mutex);
  const auto a = event_at(begin), b = event_at(end);
  if (a == nullptr || b == nullptr || a->reached == 0 || b->reached == 0) return kInvalid;
  *milliseconds = std::chrono::duration<float, std::milli>(b->when - a->when).count();
  return state().error;
}
int cuModuleLoadData(void** module, const void* image) {
  const char* text = static_cast<const char*>(image);
  if (current == nullptr) return kBadContext;
  if (std::strncmp(text, ".version", 8) != 0 && std::memcmp(text, "\177ELF", 4) != 0) return kBadImage;
  const Lock lock(state().mutex);
  *module = const_cast<void*>(image);
  ++state().counts.modules;
  return state().error;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void*, const char* name) {
  const Lock lock(state().mutex);
  if (std::string(name) == "absent") return kNotFound;
  Function& f = state().functions[name];
  f.name = name;
  *function = &f;
  return 0;
}
int cuFuncSetAttribute(void* function, int which, int value) {
  const Lock lock(state().mutex);
  if (which == tokitai::gpu::nvidia::kMaxDynamicShared) static_cast<Function*>(function)->shared = value;
  return 0;
}
int cuFuncGetAttribute(int* value, int, void* function) {
  const Lock lock(state().mutex);
  return *value = static_cast<Function*>(function)->shared, 0;
}
int cuFuncGetParamInfo(void* function, std::size_t, std::size_t* offset, std::size_t* bytes) {
  *offset = 0;
  const std::string& name = static_cast<Function*>(function)->name;
  // Which of two a product takes is up to its plan: not known.
  *bytes = is_smoke(name) ? sizeof(Smoke) : name.starts_with("gemm_") ? 0 : sizeof(tokitai::device::Arguments);
  return 0;
}
// A map here is where its matrix begins. Refuses what the driver would, and memory that is nobody's.
int cuTensorMapEncodeTiled(void* made, int type, unsigned rank, void* data, const std::uint64_t* size,
                           const std::uint64_t* stride, const std::uint32_t* box, const std::uint32_t* every,
                           int interleave, int swizzle, int promotion, int fill) {
  const Lock lock(state().mutex);
  const std::uint64_t element = std::uint64_t{1} << type, line = box[0] * element;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (type > 2 || rank != 3 || begin % 16 != 0 || reinterpret_cast<std::uintptr_t>(made) % 64 != 0) return kInvalid;
  if (interleave != 0 || (swizzle != 0 && swizzle != 3) || promotion > 3 || fill != 0) return kInvalid;
  for (int d = 0; d < 3; ++d)
    if (size[d] < 1 || size[d] > std::uint64_t{1} << 32 || box[d] < 1 || box[d] > 256 || every[d] != 1) return kInvalid;
  for (int d = 0; d < 2; ++d)
    if (stride[d] % 16 != 0 || stride[d] >= std::uint64_t{1} << 40) return kInvalid;
  if (line % 16 != 0 || (swizzle == 3 && line > 128)) return kInvalid;
  const std::uint64_t end = size[0] * element + (size[1] - 1) * stride[0] + (size[2] - 1) * stride[1];
  if (!within(data, end, false)) return kInvalid;
  std::memcpy(made, &data, sizeof(data));
  ++state().counts.maps;
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int, std::size_t) { return *n = kResident, 0; }
int cuOccupancyMaxActiveClusters(int* n, void*, const LaunchConfig*) { return *n = 1, 0; }
int cuLaunchKernelEx(const LaunchConfig* config, void* function, void** parameters, void**) {
  const Lock lock(state().mutex);
  const Function& f = *static_cast<Function*>(function);
  const std::string name = f.name;
  if (cooperative(*config) && config->grid[0] > unsigned{kResident} * kMultiprocessors) return kTooLarge;
  const int cluster = cluster_of(*config);
  if (config->grid[0] == 0 || config->grid[0] % static_cast<unsigned>(cluster) != 0) return kInvalid;
  if (config->shared_bytes > static_cast<unsigned>(f.shared)) return kInvalid;
  ++state().counts.launches;
  if (is_smoke(name)) {
    const Smoke arguments = *static_cast<const Smoke*>(parameters[0]);
    return queue(config->stream, {.work = [=, c = *config] { smoke(name, arguments, c, cluster); }});
  }
  const auto arguments = *static_cast<const tokitai::device::Arguments*>(parameters[0]);
  if (config->block[0] == tokitai::device::kProductThreads && name.starts_with("gemm_")) {
    const auto& mapped = *static_cast<const tokitai::device::MappedArguments*>(parameters[0]);
    for (int i = 0; i < tokitai::device::kMaps; ++i)
      std::memcpy(&state().counts.mapped[i], mapped.map[i].word, sizeof(void*));
    state().counts.workspace = arguments.workspace;
  }
  for (const bool ends : {false, true})
    if (const int error = queue(config->stream, {.work =
                                                     [=] {
                                                       const Runner runner = state().runner;
                                                       if (runner != nullptr) runner(name.c_str(), arguments, ends);
                                                     },
                                                 .outside = true});
        error != 0)
      return error;
  return 0;
}

}  // extern "C"

// What we use of NVIDIA's driver interface, declared by hand. The vendor's header renames many functions to a later
// version (cuMemAlloc is cuMemAlloc_v2): those names are the ones looked up here.
#pragma once
#include <cstddef>
#include <cstdint>

#include "machines/gpu/common_driver.h"

namespace tokitai::gpu::nvidia {

using DevicePointer = unsigned long long;

enum : int {  // CUdevice_attribute
  kWarpSize = 10,
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kCooperativeLaunch = 95,
  kSharedPerBlockOptin = 97,
  kClusterLaunch = 120,
};
enum : int { kMaxDynamicShared = 8, kNonPortableCluster = 14 };  // CUfunction_attribute
enum : int { kMemoryType = 2, kIsManaged = 8, kDeviceOrdinal = 9, kRangeStart = 11, kRangeSize = 12 };
enum : unsigned { kTypeHost = 1, kTypeDevice = 2 };  // CUmemorytype
constexpr int kPortableClusterMost = 8;

// CUlaunchAttribute and CUlaunchConfig.
struct alignas(8) LaunchAttribute {
  enum Id : int { cooperative = 2, cluster_dimension = 4, programmatic_serialization = 6 } id;
  char pad[4];
  union {
    char bytes[64];
    int on;
    unsigned dimension[3];
  } value;
};
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

struct Api : CommonApi {
  Error (*error_string)(Error, const char**);
  Error (*error_name)(Error, const char**);
  Error (*device_get)(int*, int);
  Error (*retain)(void**, int);
  Error (*release)(int);
  Error (*get_current)(void**);
  Error (*set_current)(void*);
  Error (*owner_of)(void*, void**);
  Error (*allocate)(DevicePointer*, std::size_t);
  Error (*free)(DevicePointer);
  Error (*place)(unsigned, int*, void**, DevicePointer);
  Error (*copy_in)(DevicePointer, const void*, std::size_t, void*);
  Error (*copy_out)(void*, DevicePointer, std::size_t, void*);
  Error (*copy_on_device)(DevicePointer, DevicePointer, std::size_t, void*);
  Error (*fill)(DevicePointer, unsigned char, std::size_t, void*);
  Error (*set_attribute)(void*, int, int);
  Error (*get_attribute)(int*, int, void*);
  Error (*parameter)(void*, std::size_t, std::size_t*, std::size_t*);
  Error (*map)(void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*, const std::uint32_t*,
               const std::uint32_t*, int, int, int, int);  // may be absent
  Error (*resident_clusters)(int*, void*, const LaunchConfig*);
  Error (*launch)(const LaunchConfig*, void*, void**, void**);
};

inline void find_symbols(Library& library, Api& api) {
  library.require(api.init, "cuInit");
  library.require(api.version, "cuDriverGetVersion");
  library.require(api.error_string, "cuGetErrorString");
  library.require(api.error_name, "cuGetErrorName");
  library.require(api.device_count, "cuDeviceGetCount");
  library.require(api.device_get, "cuDeviceGet");
  library.require(api.device_name, "cuDeviceGetName");
  library.require(api.device_memory, "cuDeviceTotalMem_v2");
  library.require(api.device_attribute, "cuDeviceGetAttribute");
  library.require(api.retain, "cuDevicePrimaryCtxRetain");
  library.require(api.release, "cuDevicePrimaryCtxRelease_v2");
  library.require(api.get_current, "cuCtxGetCurrent");
  library.require(api.set_current, "cuCtxSetCurrent");
  library.require(api.allocate, "cuMemAlloc_v2");
  library.require(api.free, "cuMemFree_v2");
  library.require(api.allocate_pinned, "cuMemHostAlloc");
  library.require(api.free_pinned, "cuMemFreeHost");
  library.require(api.memory, "cuMemGetInfo_v2");
  library.require(api.place, "cuPointerGetAttributes");
  library.require(api.copy_in, "cuMemcpyHtoDAsync_v2");
  library.require(api.copy_out, "cuMemcpyDtoHAsync_v2");
  library.require(api.copy_on_device, "cuMemcpyDtoDAsync_v2");
  library.require(api.fill, "cuMemsetD8Async");
  library.require(api.create_stream, "cuStreamCreate");
  library.require(api.destroy_stream, "cuStreamDestroy_v2");
  library.require(api.wait_stream, "cuStreamSynchronize");
  library.require(api.owner_of, "cuStreamGetCtx");
  library.optional(api.stream_number, "cuStreamGetId");  // since 12.0
  library.require(api.recording, "cuStreamIsCapturing");
  library.require(api.wait_device, "cuCtxSynchronize");
  library.require(api.create_event, "cuEventCreate");
  library.require(api.destroy_event, "cuEventDestroy_v2");
  library.require(api.record, "cuEventRecord");
  library.require(api.wait_event, "cuEventSynchronize");
  library.require(api.stream_wait, "cuStreamWaitEvent");
  library.optional(api.elapsed, "cuEventElapsedTime_v2");
  if (api.elapsed == nullptr) library.require(api.elapsed, "cuEventElapsedTime");
  library.require(api.load, "cuModuleLoadData");
  library.require(api.unload, "cuModuleUnload");
  library.require(api.function, "cuModuleGetFunction");
  library.require(api.set_attribute, "cuFuncSetAttribute");
  library.require(api.get_attribute, "cuFuncGetAttribute");
  library.optional(api.parameter, "cuFuncGetParamInfo");  // since 12.4
  library.optional(api.map, "cuTensorMapEncodeTiled");    // since 12.0
  library.require(api.resident, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library.require(api.resident_clusters, "cuOccupancyMaxActiveClusters");  // since 11.8
  library.require(api.launch, "cuLaunchKernelEx");                         // since 11.8
}

}  // namespace tokitai::gpu::nvidia

// What we use of AMD's HIP runtime, declared by hand; the same from 5.0 to 7.1.
#pragma once
#include <cstddef>

#include "machines/gpu/common_driver.h"

namespace tokitai::gpu::amd_runtime {

enum : int {  // hipDeviceAttribute_t
  kCooperativeLaunch = 10,
  kL2Bytes = 19,
  kMultiprocessors = 63,
  kSharedPerBlock = 74,
  kWarpSize = 87,
};
enum : int { kToDevice = 1, kToHost = 2, kOnDevice = 3 };  // hipMemcpyKind

struct PointerAttributes {  // hipPointerAttribute_t
  int type;
  int device;
  void *on_device, *on_host;
  int managed;
  unsigned flags;
};

struct Api : CommonApi {
  const char* (*error_string)(Error);
  const char* (*error_name)(Error);
  Error (*properties)(void*, int);
  Error (*get_device)(int*);
  Error (*set_device)(int);
  Error (*device_of)(void*, int*);  // may be absent
  Error (*allocate)(void**, std::size_t);
  Error (*free)(void*);
  Error (*place)(PointerAttributes*, const void*);
  Error (*range)(void**, std::size_t*, void*);
  Error (*last_error)();
  Error (*copy)(void*, const void*, std::size_t, int, void*);
  Error (*fill)(void*, int, std::size_t, void*);
  Error (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  Error (*launch_cooperative)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                              void**);
};

inline void find_symbols(Library& library, Api& api) {
  library.require(api.init, "hipInit");
  library.require(api.version, "hipRuntimeGetVersion");
  library.require(api.error_string, "hipGetErrorString");
  library.require(api.error_name, "hipGetErrorName");
  library.require(api.device_count, "hipGetDeviceCount");
  library.require(api.device_name, "hipDeviceGetName");
  library.require(api.device_memory, "hipDeviceTotalMem");
  library.require(api.device_attribute, "hipDeviceGetAttribute");
  library.optional(api.properties, "hipGetDevicePropertiesR0600");  // since 6.0
  if (api.properties == nullptr) library.require(api.properties, "hipGetDeviceProperties");
  library.require(api.get_device, "hipGetDevice");
  library.require(api.set_device, "hipSetDevice");
  library.require(api.allocate, "hipMalloc");
  library.require(api.free, "hipFree");
  library.require(api.allocate_pinned, "hipHostMalloc");
  library.require(api.free_pinned, "hipHostFree");
  library.require(api.memory, "hipMemGetInfo");
  library.require(api.place, "hipPointerGetAttributes");
  library.require(api.range, "hipMemGetAddressRange");
  library.require(api.last_error, "hipGetLastError");
  library.require(api.copy, "hipMemcpyAsync");
  library.require(api.fill, "hipMemsetAsync");
  library.require(api.create_stream, "hipStreamCreateWithFlags");
  library.require(api.destroy_stream, "hipStreamDestroy");
  library.require(api.wait_stream, "hipStreamSynchronize");
  library.optional(api.device_of, "hipStreamGetDevice");
  library.optional(api.stream_number, "hipStreamGetId");
  library.optional(api.recording, "hipStreamIsCapturing");
  library.require(api.wait_device, "hipDeviceSynchronize");
  library.require(api.create_event, "hipEventCreateWithFlags");
  library.require(api.destroy_event, "hipEventDestroy");
  library.require(api.record, "hipEventRecord");
  library.require(api.wait_event, "hipEventSynchronize");
  library.require(api.stream_wait, "hipStreamWaitEvent");
  library.require(api.elapsed, "hipEventElapsedTime");
  library.require(api.load, "hipModuleLoadData");
  library.require(api.unload, "hipModuleUnload");
  library.require(api.function, "hipModuleGetFunction");
  library.require(api.resident, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  library.require(api.launch, "hipModuleLaunchKernel");
  library.optional(api.launch_cooperative, "hipModuleLaunchCooperativeKernel");  // since 5.5
}

}  // namespace tokitai::gpu::amd_runtime

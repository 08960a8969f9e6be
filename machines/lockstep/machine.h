// The devices lockstep, lockstep:64 and lockstep:TARGET: every kernel of a call, as a GPU would run it, on checked
// fibers.
#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "machines/device/plan.h"
#include "tokitai/device.h"

namespace tokitai::lockstep {

// "lockstep": warps of 32, clusters and shared memory as on NVIDIA. "lockstep:64": warps of 64 and what AMD has.
// "lockstep:gfx1101": warps, shared memory and matrix instructions as that target has them.
Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options);
// The same over other device text than the library's own, for tests that break it. The texts' memory must outlive it.
Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options,
                                              std::function<std::vector<device::Text>()> headers);

}  // namespace tokitai::lockstep

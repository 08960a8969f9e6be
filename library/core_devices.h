// The devices of the core: the host's, and GPUs.
#pragma once
#include <array>

#include "machines/cpu/machine.h"
#include "machines/gpu/machine.h"
#include "machines/reference/machine.h"
#include "runtime/device_kinds.h"

namespace tokitai {

inline constexpr std::array kCoreDevices{
    DeviceKind{"cpu", "cpu", [](std::string_view, const DeviceOptions& options) { return cpu::make_machine(options); }},
    DeviceKind{"reference", "reference",
               [](std::string_view, const DeviceOptions&) -> Result<std::shared_ptr<Machine>> {
                 return reference::make_machine();
               }},
    DeviceKind{"cuda:", "cuda:N", gpu::make_machine},
    DeviceKind{"amd:", "amd:N", gpu::make_machine},
};

}  // namespace tokitai

// The machine for everyday work on a processor: SIMD by instruction set, chosen at run time, and threads.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tokitai/device.h"

namespace tokitai::cpu {

Result<std::shared_ptr<Machine>> make_machine(const DeviceOptions& options);

}  // namespace tokitai::cpu

// The devices cuda:N and amd:N: plans a call, has its kernels compiled, and queues them on a stream.
#pragma once
#include <memory>
#include <string_view>

#include "tokitai/device.h"

namespace tokitai::gpu {

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options);

}  // namespace tokitai::gpu

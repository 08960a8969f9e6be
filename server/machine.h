// The device worker:DEVICE: every call runs on DEVICE in a process of its own, so that a crash there is a status here.
#pragma once
#include <memory>
#include <string_view>

#include "tokitai/device.h"

namespace tokitai::server {

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options);

}  // namespace tokitai::server

// The devices worker:DEVICE and unix:PATH: every call runs in another process, a child of ours or a server's, so that a
// crash there is a status here.
#pragma once
#include <memory>
#include <string_view>

#include "tokitai/device.h"

namespace tokitai::server {

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options);

}  // namespace tokitai::server

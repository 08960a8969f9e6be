// The devices worker:DEVICE and unix:PATH: every call runs in another process, a child of ours or a server's, so that a
// crash there is a status here.
#pragma once
#include <memory>
#include <string_view>

#include "server/supervisor.h"
#include "tokitai/device.h"

namespace tokitai::server {

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options);

// One whose calls are done by whoever `supervisor` finds, which lends the arena's descriptor; `time` for each attempt.
class Arena;
Result<std::shared_ptr<Machine>> make_machine(std::unique_ptr<Arena> arena, std::unique_ptr<Supervisor> supervisor,
                                              std::chrono::nanoseconds time, std::string where);

}  // namespace tokitai::server

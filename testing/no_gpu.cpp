// Stands for the machines that compile at run time or start processes, where a program is built without them.
#include "machines/device/plan.h"
#include "machines/gpu/machine.h"
#include "machines/lockstep/machine.h"
#include "server/machine.h"

namespace tokitai {
namespace {

Status absent() { return {Code::unavailable, "this program is built without GPU and worker machines"}; }

}  // namespace

std::vector<device::Text> device::device_headers() { return {}; }
Result<std::shared_ptr<Machine>> gpu::make_machine(std::string_view, const DeviceOptions&) { return absent(); }
Result<std::shared_ptr<Machine>> lockstep::make_machine(std::string_view, const DeviceOptions&) { return absent(); }
Result<std::shared_ptr<Machine>> server::make_machine(std::string_view, const DeviceOptions&) { return absent(); }

}  // namespace tokitai

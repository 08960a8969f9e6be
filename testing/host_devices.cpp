// Stands for the machines that compile at run time or start processes, where a program is built without them.
#include "machines/cpu/machine.h"
#include "machines/device/plan.h"
#include "machines/reference/machine.h"
#include "runtime/device_kinds.h"

namespace tokitai {
namespace {

constexpr DeviceKind kHostDevices[] = {
    {"cpu", "cpu", [](std::string_view, const DeviceOptions& options) { return cpu::make_machine(options); }},
    {"reference", "reference", [](std::string_view, const DeviceOptions&) -> Result<std::shared_ptr<Machine>> {
       return reference::make_machine();
     }}};

}  // namespace

std::vector<device::Text> device::device_headers() { return {}; }
std::span<const DeviceKind> device_kinds() { return kHostDevices; }

}  // namespace tokitai

// Opening devices by name.
#include <fmt/format.h>

#include "runtime/device_kinds.h"
#include "runtime/machine.h"

namespace tokitai {
namespace {

bool names(const DeviceKind& kind, std::string_view device) {
  return kind.name.ends_with(':') ? device.starts_with(kind.name) : device == kind.name;
}

// "cpu, reference and cuda:N".
std::string listed() {
  std::string all, last;
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.listed.empty()) continue;
    if (!last.empty()) all += (all.empty() ? "" : ", ") + last;
    last = kind.listed;
  }
  return all.empty() ? last : all + " and " + last;
}

}  // namespace

Result<Device> open(std::string_view name, const DeviceOptions& options) {
  for (const DeviceKind& kind : device_kinds()) {
    if (!names(kind, name)) continue;
    auto machine = kind.make(name, options);
    if (!machine.ok()) return machine.status();
    return Device(std::string(name), std::move(machine).value());
  }
  return Status(Code::unavailable, fmt::format("no device '{}'; there are {}", name, listed()));
}

}  // namespace tokitai

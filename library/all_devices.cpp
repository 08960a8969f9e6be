// What open() knows in a program that is linked with everything.
#include <algorithm>

#include "library/core_devices.h"
#include "machines/lockstep/machine.h"
#include "server/machine.h"

namespace tokitai {
namespace {

constexpr std::array kOuterDevices{
    DeviceKind{"lockstep", "lockstep (a GPU's kernels on the CPU)", lockstep::make_machine},
    DeviceKind{"lockstep:", "", lockstep::make_machine},
    DeviceKind{"worker:", "worker:DEVICE", server::make_machine},
    DeviceKind{"unix:", "unix:PATH", server::make_machine},
};

constexpr auto kAllDevices = [] {
  std::array<DeviceKind, kCoreDevices.size() + kOuterDevices.size()> all{};
  std::copy(kOuterDevices.begin(), kOuterDevices.end(),
            std::copy(kCoreDevices.begin(), kCoreDevices.end(), all.begin()));
  return all;
}();

}  // namespace

std::span<const DeviceKind> device_kinds() { return kAllDevices; }

}  // namespace tokitai

// What open() knows in a program that is linked with the core alone.
#include "library/core_devices.h"

namespace tokitai {

std::span<const DeviceKind> device_kinds() { return kCoreDevices; }

}  // namespace tokitai

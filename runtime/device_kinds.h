// The kinds of devices that open() knows: those whose machines the program is linked with. Each library of operators
// brings its table (library/), as it brings its families.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "tokitai/device.h"

namespace tokitai {

struct DeviceKind {
  std::string_view name;    // the device's name; where it ends in a colon, how its name begins
  std::string_view listed;  // as open() tells which there are
  Result<std::shared_ptr<Machine>> (*make)(std::string_view name, const DeviceOptions& options);
};

std::span<const DeviceKind> device_kinds();

}  // namespace tokitai

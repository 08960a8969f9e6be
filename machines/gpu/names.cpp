// Names of devices.
#include <fmt/format.h>

#include <charconv>

#include "machines/gpu/driver.h"

namespace tokitai::gpu {

bool names_gpu(std::string_view name) {
  const std::string_view vendor = name.substr(0, name.find(':'));
  return vendor == "cuda" || vendor == "amd";
}

Result<DeviceName> parse_name(std::string_view name) {
  DeviceName parsed{name.substr(0, name.find(':'))};
  if (parsed.vendor.size() == name.size()) return parsed;
  const std::string_view digits = name.substr(parsed.vendor.size() + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed.index);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || parsed.index < 0)
    return Status::invalid(fmt::format("no device '{}'; after {}: comes its number", name, parsed.vendor));
  return parsed;
}

Result<Driver*> driver_of(std::string_view vendor) {
  auto driver = vendor == "cuda" ? Driver::nvidia() : Driver::amd();
  if (driver.ok() && !driver.value()->usable_here())
    return Status(Code::unavailable,
                  "the GPU's driver was opened before this process was forked, and does not survive that; open GPUs "
                  "after forking, or start the process anew");
  return driver;
}

}  // namespace tokitai::gpu

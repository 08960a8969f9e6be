#include "compiler/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace tokitai::compiler {
namespace {

constexpr int kKiB = 1024;
constexpr std::array kTargets{
    Target{"sm_80", Vendor::nvidia, 32, 163 * kKiB, false, false, Fragment::mma},
    Target{"sm_89", Vendor::nvidia, 32, 99 * kKiB, false, false, Fragment::mma},
    Target{"sm_90a", Vendor::nvidia, 32, 227 * kKiB, true, true, Fragment::mma},
    Target{"sm_100a", Vendor::nvidia, 32, 227 * kKiB, true, false, Fragment::mma},
    Target{"gfx90a", Vendor::amd, 64, 64 * kKiB, false, false, Fragment::mfma16},
    Target{"gfx942", Vendor::amd, 64, 64 * kKiB, false, false, Fragment::mfma32},
    Target{"gfx1030", Vendor::amd, 32, 64 * kKiB, false, false, Fragment::dot4},
    Target{"gfx1101", Vendor::amd, 32, 64 * kKiB, false, false, Fragment::wmma11},
    Target{"gfx1201", Vendor::amd, 32, 64 * kKiB, false, false, Fragment::wmma12},
};

int capability_of(const Target& target) {
  int number = 0;
  std::from_chars(target.name.data() + 3, target.name.data() + target.name.size(), number);  // behind "sm_"
  return number;
}

}  // namespace

std::span<const Target> targets() { return kTargets; }

Result<Target> find_target(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Target& target : kTargets) {
    if (target.name == name) return target;
    names.push_back(target.name);
  }
  return Status::invalid(fmt::format("no target '{}'; the targets are {}", name, fmt::join(names, ", ")));
}

Result<Target> target_for_capability(int capability) {
  std::optional<Target> best;
  for (const Target& target : kTargets) {
    if (target.vendor != Vendor::nvidia) continue;
    const int number = capability_of(target);
    // Code with the suffix "a" runs on exactly that capability; other code on every later minor version too.
    const bool runs =
        target.name.ends_with('a') ? number == capability : number / 10 == capability / 10 && number <= capability;
    if (runs && (!best || number > capability_of(*best))) best = target;
  }
  if (best) return *best;
  return Status(Code::unavailable,
                fmt::format("no target for a device of compute capability {}.{}", capability / 10, capability % 10));
}

}  // namespace tokitai::compiler

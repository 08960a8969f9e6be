// The processors that kernels are compiled for, and what a kernel's author must know of each.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/fragment.h"
#include "tokitai/status.h"

namespace tokitai::compiler {

enum class Vendor : std::uint8_t { nvidia, amd, host };  // host: a library for this machine

struct Target {
  std::string_view name;  // as the compiler calls it: "sm_90a", "gfx942"
  Vendor vendor = Vendor::nvidia;
  int warp = 32;         // threads that run in step
  int shared_bytes = 0;  // the most shared memory a block can ask for
  bool clusters = false;
  bool warpgroups = false;             // tensor cores that 128 threads use together, fed by the copy engine (sm_90a)
  Fragment fragment = Fragment::none;  // how a wave multiplies bytes by itself
};

std::span<const Target> targets();  // of GPUs
Result<Target> find_target(std::string_view name);

// For a device of that compute capability (90 for 9.0): the target of that number, else the nearest lower one of
// the same major version.
Result<Target> target_for_capability(int capability);

}  // namespace tokitai::compiler

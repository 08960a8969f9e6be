// A kernel of device text, compiled by the host's compiler and loaded.
#pragma once
#include <map>
#include <string>

#include "machines/device/plan.h"

namespace tokitai::lockstep {

using Kernel = void (*)(device::Arguments);

class Library {
 public:
  // Compiled through the kernel cache the first time.
  Result<Kernel> get(const device::Launch& launch, std::string_view label);

 private:
  std::map<std::string, Kernel> loaded_;  // by source; libraries stay loaded
};

}  // namespace tokitai::lockstep

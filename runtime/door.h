// The one door that every call goes through on its way to a machine: contract check, floating-point mode, then the
// machine. It neither throws nor lets anything be written before the check.
#pragma once
#include <fmt/format.h>

#include <new>

#include "base/float_mode.h"
#include "contract/contract.h"
#include "runtime/machine.h"

namespace tokitai {

class Door {
 public:
  static Machine& machine(const Device& device) { return *device.machine_; }

  template <class F> static Status pass(const Device& device, Call& call, F run) {
    if (call.contract == nullptr) return Status::invalid("the call names no operator");
    if (Status s = device.usable(); !s.ok()) return s;
    const DefaultFloatMode mode;
    try {
      if (Status status = check(call); !status.ok()) return status;
      return run(machine(device));
    } catch (const std::bad_alloc&) {
      return {Code::unavailable, fmt::format("{}: out of memory", call.contract->name)};
    }
  }
};

}  // namespace tokitai

// What a device is asked about calls: each goes through the door.

#include "runtime/door.h"

namespace tokitai {

// In a fork the machine is left as it is: what it would end, wait for or give back there is its parent's.
Device::Device(std::string name, const std::shared_ptr<Machine>& machine)
    : Device(std::make_shared<const Facts>(Facts{std::move(name), machine->description(), machine->threads()}),
             machine) {}
Device::Device(std::shared_ptr<const Facts> facts, std::shared_ptr<Machine> machine) : facts_(std::move(facts)) {
  Machine* made = machine.get();
  machine_ = std::shared_ptr<Machine>(made, [held = std::move(machine)](Machine* one) mutable {
    if (one->usable_here()) return held.reset();
    one->leave_fork();
    leave_as_it_is(std::move(held));
  });
}

Status Device::usable() const {
  if (machine_->usable_here()) [[likely]]
    return {};
  return {Code::unavailable,
          fmt::format("the device {} belongs to the process that opened it, not to a fork of it", name())};
}

Status Device::run(Call& call, Outcome* outcome) {
  return Door::pass(*this, call, [&](Machine& machine) {
    return outcome != nullptr ? machine.run(call, *outcome) : machine.queue(call);
  });
}

Result<std::int64_t> Device::workspace(Call& call) const {
  if (call.contract == nullptr) return Status::invalid("the call names no operator");
  if (Status s = usable(); !s.ok()) return s;
  try {
    if (Status status = check(call); !status.ok()) return status;
    return machine_->workspace(call);
  } catch (const std::bad_alloc&) {
    return Status(Code::unavailable, fmt::format("{}: out of memory", call.contract->name));
  }
}

Status Device::compile_ahead(std::vector<Call> calls, const CompileProgress& progress) {
  if (Status s = usable(); !s.ok()) return s;
  const DefaultFloatMode mode;
  try {
    for (Call& call : calls) {
      if (call.contract == nullptr) return Status::invalid("a call names no operator");
      if (Status status = check(call); !status.ok()) return status;
    }
    return machine_->compile_ahead(calls, progress);
  } catch (const std::bad_alloc&) {
    return {Code::unavailable, "out of memory for compiling ahead"};
  }
}

Result<double> Device::compile_seconds(Call& call) {
  if (call.contract == nullptr) return Status::invalid("the call names no operator");
  if (Status s = usable(); !s.ok()) return s;
  try {
    if (Status status = check(call); !status.ok()) return status;
    return machine_->compile_seconds(call);
  } catch (const std::bad_alloc&) {
    return Status(Code::unavailable, fmt::format("{}: out of memory", call.contract->name));
  }
}

std::int64_t Device::scratch_bytes() const { return machine_->usable_here() ? machine_->scratch_bytes() : 0; }

AccessChecks Device::access_checks() const {
  return machine_->usable_here() ? machine_->access_checks() : AccessChecks();
}

std::vector<KernelFacts> Device::kernels() const {
  return machine_->usable_here() ? machine_->kernels() : std::vector<KernelFacts>();
}

}  // namespace tokitai

// Opening devices, and the one door every call goes through: contract check, floating-point mode, run.
#include "tokitai/device.h"

#include <fmt/format.h>

#include <new>

#include "contract/contract.h"
#include "contract/workspace.h"
#include "machines/cpu/machine.h"
#include "machines/gpu/machine.h"
#include "machines/lockstep/machine.h"
#include "machines/reference/machine.h"
#include "patterns/segment.h"
#include "runtime/float_mode.h"
#include "runtime/kernel_table.h"
#include "server/machine.h"

namespace tokitai {

// In a fork the machine is left as it is: what it would end, wait for or give back there is its parent's.
Device::Device(std::string name, const std::shared_ptr<Machine>& machine)
    : Device(std::make_shared<const Facts>(
                 Facts{std::move(name), machine->description(), machine->threads(), machine->keeps_journal()}),
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
  if (call.contract == nullptr) return Status::invalid("the call names no operator");
  if (Status s = usable(); !s.ok()) return s;
  const DefaultFloatMode mode;
  try {
    if (Status status = check(call); !status.ok()) return status;
    return outcome != nullptr ? machine_->run(call, *outcome) : machine_->queue(call);
  } catch (const std::bad_alloc&) {
    return {Code::unavailable, fmt::format("{}: out of memory", call.contract->name)};
  }
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

std::vector<KernelFacts> Device::kernels() const {
  return machine_->usable_here() ? machine_->kernels() : std::vector<KernelFacts>();
}

Result<Device> open(std::string_view name, const DeviceOptions& options) {
  if (name == "reference") return Device(std::string(name), reference::make_machine());
  if (name == "cpu") {
    auto machine = cpu::make_machine(options);
    if (!machine.ok()) return machine.status();
    return Device(std::string(name), std::move(machine).value());
  }
  if (name == "lockstep" || name.starts_with("lockstep:")) {
    auto machine = lockstep::make_machine(name, options);
    if (!machine.ok()) return machine.status();
    return Device(std::string(name), std::move(machine).value());
  }
  if (name.starts_with("cuda:") || name.starts_with("amd:")) {
    auto machine = gpu::make_machine(name, options);
    if (!machine.ok()) return machine.status();
    return Device(std::string(name), std::move(machine).value());
  }
  if (name.starts_with("worker:") || name.starts_with("unix:")) {
    auto machine = server::make_machine(name, options);
    if (!machine.ok()) return machine.status();
    return Device(std::string(name), std::move(machine).value());
  }
  return Status(
      Code::unavailable,
      fmt::format("no device '{}'; there are cpu, reference, cuda:N, amd:N, lockstep (a GPU's kernels on the CPU), "
                  "worker:DEVICE and unix:PATH",
                  name));
}

Result<std::int64_t> Machine::workspace(const Call& call) const { return workspace_bytes(call, threads()); }

Status Machine::compile_ahead(const std::vector<Call>&, const CompileProgress&) { return {}; }
Result<double> Machine::compile_seconds(const Call&) { return 0.0; }

std::vector<std::string> cpu_isas() { return cpu::supported_isas(); }

Status no_kernel(const Call& call, std::string_view machine) {
  return {Code::internal, fmt::format("{} has no kernel on the {} machine", call.contract->name, machine)};
}

Status status_of(const Call& call, const Answer& answer, Outcome& outcome) {
  switch (answer.kind) {
    case Answer::good: return {};
    case Answer::refused: return Status::invalid(call.contract->refusal(call, answer.position));
    case Answer::too_many:
      return Status::invalid(fmt::format("{}: index value {} occurs more than {} times; an exact f16 sum holds no more",
                                         call.contract->name, answer.position, kMostOccurrences));
    case Answer::skipped:
      outcome.skipped = true;
      outcome.skipped_tensor = answer.tensor;
      outcome.skipped_position = answer.position;
      return {};
    case Answer::out_of_memory:
      return {Code::unavailable, fmt::format("{}: out of memory for scratch buffers", call.contract->name)};
  }
  return {Code::internal, "a kernel gave an unknown answer"};
}

}  // namespace tokitai

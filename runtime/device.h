// A device is something operators run on, opened by name: "cpu" (SIMD and threads), "reference" (plain scalar
// loops: it defines the bits). Every device gives the same output bits.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/call.h"
#include "tokitai/status.h"

namespace tokitai {

// What a machine implements; callers use the operator functions instead.
class Machine {
 public:
  virtual ~Machine() = default;
  // The call has passed its contract's check. The floating-point mode is the default one.
  virtual Status run(const Call& call, Outcome& outcome) = 0;
  virtual int threads() const { return 1; }
  virtual std::string description() const = 0;
  // Scratch memory held between calls, in bytes.
  virtual std::int64_t scratch_bytes() const { return 0; }
};

struct DeviceOptions {
  int threads = 0;       // 0: as many as the processor has cores
  std::string isa = {};  // "" : the best the processor runs; else one of cpu_isas()
};

class Device {
 public:
  Device(std::string name, std::shared_ptr<Machine> machine) : name_(std::move(name)), machine_(std::move(machine)) {}
  const std::string& name() const { return name_; }
  std::string description() const { return machine_->description(); }
  int threads() const { return machine_->threads(); }
  std::int64_t scratch_bytes() const { return machine_->scratch_bytes(); }

  // Checks the call against its contract, then runs it. May be called from several threads at once.
  Status run(Call& call, Outcome* outcome = nullptr);
  // The most scratch memory that call would take here.
  Result<std::int64_t> workspace(Call& call) const;

 private:
  std::string name_;
  std::shared_ptr<Machine> machine_;
};

Result<Device> open(std::string_view name, const DeviceOptions& options = {});

// Instruction sets of the cpu device that this processor runs, best first; the last is the portable one.
std::vector<std::string> cpu_isas();

}  // namespace tokitai

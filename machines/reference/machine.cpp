#include "machines/reference/machine.h"

#include "runtime/registry.h"

namespace tokitai::reference {
namespace {

class ReferenceMachine : public Machine {
 public:
  Status run(const Call& call, Outcome& outcome) override {
    const Operator* found = find_operator(*call.contract);
    if (found == nullptr) return no_kernel(call, "reference");
    return status_of(call, found->reference(call), outcome);
  }
  bool keeps_journal() const override { return true; }
  bool survives_fork() const override { return true; }
  std::string description() const override { return "plain scalar loops, one thread: defines the bits"; }
};

}  // namespace

std::shared_ptr<Machine> make_machine() { return std::make_shared<ReferenceMachine>(); }

}  // namespace tokitai::reference

#include "machines/reference/machine.h"

#include "contract/registry.h"
#include "runtime/answer.h"
#include "runtime/journal_keeper.h"
#include "runtime/machine.h"

namespace tokitai::reference {
namespace {

class ReferenceMachine : public Machine, private JournalKeeper {
 public:
  Status run(const Call& call, Outcome& outcome) override { return run_behind(nullptr, call, outcome); }
  Status run_behind(std::byte* journal, const Call& call, Outcome& outcome) override {
    const Operator* found = find_operator(*call.contract);
    if (found == nullptr) return no_kernel(call, "reference");
    return status_of(call, found->reference(call, journal), outcome);
  }
  JournalKeeper* journal_keeper() override { return this; }
  bool survives_fork() const override { return true; }
  std::string description() const override { return "plain scalar loops, one thread: defines the bits"; }
};

}  // namespace

std::shared_ptr<Machine> make_machine() { return std::make_shared<ReferenceMachine>(); }

}  // namespace tokitai::reference

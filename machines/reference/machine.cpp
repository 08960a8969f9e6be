#include "machines/reference/machine.h"

#include "runtime/kernel_table.h"

namespace tokitai {

#define TK_FAMILY(family)                                              \
  namespace family {                                                   \
  std::span<const NamedKernel<reference::Kernel>> reference_kernels(); \
  }
#include "families.inc"
#undef TK_FAMILY

namespace reference {
namespace {

class ReferenceMachine : public Machine {
 public:
  ReferenceMachine() {
#define TK_FAMILY(family) tables_.push_back(family::reference_kernels());
#include "families.inc"
#undef TK_FAMILY
  }
  Status run(const Call& call, Outcome& outcome) override {
    const Kernel kernel = find_kernel<Kernel>(tables_, call);
    return kernel == nullptr ? no_kernel(call, "reference") : status_of(call, kernel(call), outcome);
  }
  bool keeps_journal() const override { return true; }
  bool survives_fork() const override { return true; }
  std::string description() const override { return "plain scalar loops, one thread: defines the bits"; }

 private:
  std::vector<std::span<const NamedKernel<Kernel>>> tables_;
};

}  // namespace

std::shared_ptr<Machine> make_machine() { return std::make_shared<ReferenceMachine>(); }

}  // namespace reference
}  // namespace tokitai

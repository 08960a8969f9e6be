#include "machines/analysis/machine.h"

#include <fmt/format.h>

#include "contract/registry.h"
#include "machines/analysis/interval_words.h"

namespace tokitai {

#define TK_FAMILY(family)                                             \
  namespace family {                                                  \
  std::span<const NamedKernel<analysis::Kernels>> analysis_kernels(); \
  }
#include "analysis_families.inc"
#undef TK_FAMILY

namespace analysis {

Result<Kernels> kernels(const Contract& contract) {
  const Operator* found = find_operator(contract);
  if (found != nullptr && found->analysis != nullptr) return *found->analysis;
  if (found != nullptr && found->late != nullptr) {
    const auto late = found->late->analysis(contract.name, &kIntervalWords);
    if (!late.ok()) return late.status();
    return *late.value();
  }
  const std::span<const NamedKernel<Kernels>> tables[] = {
#define TK_FAMILY(family) family::analysis_kernels(),
#include "analysis_families.inc"
#undef TK_FAMILY
  };
  for (const auto& table : tables)
    for (const NamedKernel<Kernels>& entry : table)
      if (entry.name == contract.name) return entry.run;
  return Status(Code::internal, fmt::format("{}: no analysis kernel", contract.name));
}

}  // namespace analysis
}  // namespace tokitai

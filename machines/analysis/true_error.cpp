#include "tokitai/true_error.h"

#include "contract/contract.h"
#include "machines/analysis/call_accuracy.h"
#include "machines/analysis/machine.h"

namespace tokitai {

std::optional<TrueError> true_error(const Call& before, const Call& after) {
  if (static_cast<double>(cost_of(before).flops) > kMostMeasuredOperations) return std::nullopt;
  const auto kernels = analysis::kernels(*before.contract);
  if (!kernels.ok()) return std::nullopt;
  const evidence::CallAccuracy accuracy(before, kernels.value());
  const evidence::AccuracyFigures figures = evidence::together(accuracy.of(after, std::string(before.contract->name)));
  if (figures.outputs == 0) return std::nullopt;
  return TrueError{figures.outputs, figures.worst_ulp, figures.worst_bound_ulp, figures.exceeded,
                   figures.first_exceeded};
}

}  // namespace tokitai

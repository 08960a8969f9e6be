// The true error of a call's outputs against the real-number result, and its derived bound, for reports of calls:
//   auto report = tokitai::run_with_report(device, arguments, {.measure = tokitai::true_error});
// It is in a library of its own (tokitai::analysis), which needs MPFI.
#pragma once
#include "tokitai/report.h"

namespace tokitai {

// Every operation becomes interval arithmetic, about a microsecond each, so calls of more operations than this are not
// measured.
inline constexpr double kMostMeasuredOperations = 3e7;

// `before` is a call that its check let through, over operands as it reads them; `after` is the same call over what was
// written. Nothing where the call is too large, or no output has a real-number result and a finite bound.
std::optional<TrueError> true_error(const Call& before, const Call& after);

}  // namespace tokitai

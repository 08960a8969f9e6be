// The analysis machines: the operators' definitions over other number types. They answer with numbers instead of
// writing memory, so they are not devices.
//   exact: an interval around the real-number result (interval.h)
//   bound: the reference's value and a bound of its error (bound.h)
//   terms: whether an output is what is left of larger terms (terms.h)
//   dual:  an interval around a directional derivative (dual.h)
#pragma once
#include "base/float_mode.h"
#include "contract/kernel_table.h"
#include "machines/analysis/bound.h"
#include "machines/analysis/dual.h"
#include "machines/analysis/elements.h"
#include "machines/analysis/interval.h"
#include "machines/analysis/terms.h"

namespace tokitai::analysis {

// One operator on each machine.
struct Kernels {
  Kernel<Interval> exact = nullptr;
  Kernel<Bound> bound = nullptr;
  Kernel<Terms> terms = nullptr;
  Kernel<Dual> dual = nullptr;
};

Result<Kernels> kernels(const Contract& contract);

// Runs a kernel over a checked call in the default floating-point mode, which the bound machine's values need.
template <class N> Sets<N> run(Kernel<N> kernel, const Call& call, const Sets<N>& given = {}) {
  const DefaultFloatMode mode;
  Sets<N> made;
  kernel(call, given, made);
  return made;
}

}  // namespace tokitai::analysis

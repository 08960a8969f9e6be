// Products in the arithmetics that are no chain, over the bound machine's numbers: the value that the reference
// computes, and what every term lost on the way to its integer, computed term by term, beside each rounding.
#pragma once
#include <vector>

#include "machines/analysis/bound.h"

namespace tokitai::analysis {

using Line = std::vector<Bound>;  // a row of the left factor or a column of the right one

Bound block15_bound(const Line& a, const Line& b, Bound chain);
Bound hopper_bound(const Line& a, const Line& b, Bound chain, Type type);

}  // namespace tokitai::analysis

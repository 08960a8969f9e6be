// What the planner can choose: the different constants of the kernels that it plans for the built-in problems and for
// a grid of sizes around every size where its choice changes, on every kind of target, in every variant.
#pragma once
#include "proofs/subject.h"
#include "tokitai/status.h"

namespace tokitai::proofs {

Result<Subjects> planned();

}  // namespace tokitai::proofs

// What the planner can choose: the different constants of the kernels that it plans for the built-in problems and for
// a grid of sizes around every size where its choice changes, on every kind of target, in every variant.
#pragma once
#include "machines/device/plan.h"
#include "proofs/subject.h"
#include "tokitai/status.h"

namespace tokitai::proofs {

Result<Subjects> planned();

// The parts of one launch; none where it has no index arithmetic of its own (a check).
std::vector<Part> parts_of(const Call& call, const device::Launch& launch);

}  // namespace tokitai::proofs

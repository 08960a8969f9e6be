// What the prover finds, as part of a bundle of evidence.
#pragma once
#include "cli/progress_line.h"
#include "evidence/predicate.h"

namespace tokitai::cli {

Result<evidence::ProofEvidence> proof_evidence(ProgressLine& progress);

}  // namespace tokitai::cli

// The prover: decides every claim about every subject. It is a library of its own that the command opens when it is
// asked to prove, so that nothing else needs a solver.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "proofs/outcome.h"
#include "proofs/subject.h"
#include "tokitai/status.h"

namespace tokitai::proofs {

// Parts of plans decided so far, of all.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

struct Prover {
  std::string solver;  // "Z3 4.8.12"
  std::vector<Outcome> (*prove)(const Subjects& subjects, const Settings& settings, const Progress& progress);
};

// The one beside the program or in ../lib/tokitai, or the one that TOKITAI_PROVER names.
Result<const Prover*> load_prover();

}  // namespace tokitai::proofs

// What the library is opened for.
extern "C" __attribute__((visibility("default"))) const tokitai::proofs::Prover* tokitai_prover();

#include "cli/proof_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "proofs/planned.h"
#include "proofs/prover.h"

namespace tokitai::cli {

Result<evidence::ProofEvidence> proof_evidence(ProgressLine& progress) {
  const auto prover = proofs::load_prover();
  if (!prover.ok()) return prover.status();
  auto subjects = proofs::planned();
  if (!subjects.ok()) return subjects.status();
  evidence::ProofEvidence proofs;
  proofs.solver = prover.value()->solver;
  proofs.functions = evidence::proved_functions();
  for (const auto& [pattern, plans] : subjects->plans) proofs.patterns.push_back({pattern, plans});
  const auto outcomes = prover.value()->prove(subjects.value(), {}, [&](std::size_t done, std::size_t all) {
    progress.say(fmt::format("proofs: {} of {} parts of plans", done, all));
  });
  for (const proofs::Outcome& o : outcomes) {
    auto& one = *std::find_if(proofs.patterns.begin(), proofs.patterns.end(),
                              [&](const evidence::ProofFigures& p) { return p.name == o.pattern; });
    ++one.claims;
    one.proved += o.verdict == proofs::Verdict::proved ? 1 : 0;
    one.seconds += o.seconds;
    one.slowest_seconds = std::max(one.slowest_seconds, o.seconds);
  }
  return proofs;
}

}  // namespace tokitai::cli

#include "cli/proof_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "machines/device/plan.h"
#include "proofs/planned.h"
#include "proofs/prover.h"

namespace tokitai::cli {
namespace {

// The headers whose functions are proved: all that say where something lies, and how large what it lies in is.
bool is_proved(std::string_view header) {
  return header.starts_with("machines/device/place") || header.ends_with("_shape.h");
}

}  // namespace

Result<evidence::ProofEvidence> proof_evidence(ProgressLine& progress) {
  const auto prover = proofs::load_prover();
  if (!prover.ok()) return prover.status();
  auto subjects = proofs::planned();
  if (!subjects.ok()) return subjects.status();
  evidence::ProofEvidence proofs;
  proofs.solver = prover.value()->solver;
  for (const device::Text& text : device::device_headers())
    if (is_proved(text.name)) proofs.functions.emplace_back(text.name, evidence::source_digest(text.name));
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

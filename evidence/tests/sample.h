// A small honest bundle, made in this process: three operators, a problem or two each.
#pragma once
#include <string>
#include <vector>

#include "evidence/bundle.h"
#include "evidence/digest.h"

namespace tokitai::evidence {

inline VerifyResult sample_result() {
  std::vector<testing::Problem> problems;
  for (const char* line : {"softmax.forward rows=3 cols=5,6", "adamw.step n=5+9 t=1 data=special",
                           "cross_entropy.forward_backward rows=4 cols=5 pad=3 in_place=yes"})
    for (const testing::Problem& problem : testing::parse_problems(line).value()) problems.push_back(problem);
  return verify(problems, {{"cpu, 1 thread", open("cpu", {.threads = 1}).value()}}, {}, "reference", Digests::taken);
}

inline Predicate sample_predicate() {
  Predicate p = make_predicate(sample_result(), open("cpu", {.threads = 1}).value(), "reference", {}, {}, {});
  p.proofs = ProofEvidence{"Z3 4.8.12", {{"each", 4, 28, 28, 0.5, 0.1}}, {}};
  constexpr const char* kHeader = "machines/device/place_each.h";
  p.proofs->functions.emplace_back(kHeader, source_digest(kHeader));
  return p;
}

inline PrivateKey sample_key(unsigned char seed = 1) {
  PrivateKey::Seed bytes;
  bytes.fill(seed);
  return PrivateKey(bytes);
}

// The text of evidence.json, signed where there is a key.
inline std::string sample_evidence(const PrivateKey* key) { return bundle(sample_predicate(), key)[0].text; }

}  // namespace tokitai::evidence

// A small honest bundle, made in this process: three operators, a problem or two each.
#pragma once
#include <string>
#include <vector>

#include "evidence/bundle.h"
#include "machines/device/compile_ahead.h"
#include "reports/digest.h"

namespace tokitai::evidence {

inline VerifyResult sample_result() {
  std::vector<problems::Problem> problems;
  for (const char* line : {"softmax.forward rows=3 cols=5,6", "adamw.step n=5+9 t=1 data=special",
                           "cross_entropy.forward_backward rows=4 cols=5 pad=3 in_place=yes"})
    for (const problems::Problem& problem : problems::parse_problems(line).value()) problems.push_back(problem);
  return verify(problems, {{"cpu, 1 thread", open("cpu", {.threads = 1}).value()}}, {}, "reference", Digests::taken);
}

inline Predicate sample_predicate() {
  Predicate p = make_predicate(sample_result(), open("cpu", {.threads = 1}).value(), "reference", {}, {}, {});
  p.proofs = ProofEvidence{"Z3 4.8.12", {{"each", 4, 28, 28, 0.5, 0.1}}, proved_functions()};
  return p;
}

// The same with everything that a bundle may have. The figures are made up, and agree with each other.
inline Predicate full_predicate() {
  Predicate p = sample_predicate();
  for (OperatorEvidence& one : p.operators) {
    one.error = ErrorFigures{one.result.name, 1111, 0, 0.503, 0.75, 0.67, {0, 0.25, 0.5, 0.75}, {1000, 110, 1}};
    one.speed = SpeedFigures{one.result.name, one.result.name + " rows=3 cols=5", 7, 4000000, 16000000, 0.001, 8};
  }
  for (ProblemResult& one : p.problems) one.checks = {100, 0};
  for (OperatorEvidence& one : p.operators) one.result.checks = {100 * one.result.problems, 0};
  p.kernels.push_back({"softmax.forward row", "sm_90a", std::string(64, 'a'), "nvrtc 12", "nvrtc -O3",
                       std::string(64, 'b'), device::kNothingForbidden});
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

// What a bundle tells, as data: what was run, on what, with what result, what is claimed and what is not. The same
// struct is written to JSON, read back from it, and drawn as a report.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evidence/bounded_json.h"
#include "evidence/figures.h"
#include "evidence/verify.h"
#include "reports/facts.h"

namespace tokitai::evidence {

inline constexpr std::int64_t kPredicateVersion = 1;
inline constexpr std::string_view kPredicateType = "urn:tokitai:evidence:v1";

struct OperatorEvidence {
  OperatorResult result;
  std::string summary;  // what it computes, in a sentence
  std::string contract_digest, definition_digest;
  std::vector<std::string> claims, non_claims;
  std::optional<ErrorFigures> error;
  std::optional<SpeedFigures> speed;
};

struct ProofEvidence {
  std::string solver;
  std::vector<ProofFigures> patterns;
  NamedDigests functions;  // the headers that were proved
};

struct Predicate {
  std::string tokitai, made;  // version, time
  std::string device, description, against;
  std::vector<std::string> variants;
  MachineFacts machine;
  BuildFacts build;
  std::vector<KernelFacts> kernels;
  std::vector<OperatorEvidence> operators;
  std::vector<ProblemResult> problems;
  std::vector<std::string> non_claims;
  std::optional<ProofEvidence> proofs;
};

// Of a verification of that device. Figures are put in where their operator was verified.
Predicate make_predicate(const VerifyResult& result, const Device& device, std::string_view against,
                         const std::vector<KernelFacts>& kernels, const std::vector<ErrorFigures>& errors,
                         const std::vector<SpeedFigures>& speeds);

// What evidence of that device as a whole does not show.
std::vector<std::string> non_claims_of(std::string_view device);
// The headers whose functions are proved, all that say where something lies and how large what it lies in is, as this
// program has them.
NamedDigests proved_functions();

nlohmann::json to_json(const Predicate& predicate);
// Every field is asked for; `fields` then knows what does not fit.
Predicate read_predicate(Fields& fields);

}  // namespace tokitai::evidence

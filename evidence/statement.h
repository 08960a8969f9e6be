// An in-toto Statement v1 (https://github.com/in-toto/attestation): the things it is about, by digest, and what is
// said of them. DIR/evidence.json is the statement itself, or an envelope around it where it is signed.
#pragma once
#include <string>
#include <vector>

#include "evidence/key.h"
#include "evidence/predicate.h"

namespace tokitai::evidence {

struct Subject {
  std::string name, digest;
};

struct Statement {
  std::vector<Subject> subjects;
  Predicate predicate;
};

// A file that lies beside evidence.json and is one of its subjects.
struct ReportFile {
  std::string name, text;
};

// What defines the bits of what was run: definitions, numerics, canonical orders, contracts, kernels, the program.
std::vector<Subject> subjects_of(const Predicate& predicate);

// The whole text of evidence.json: signed where there is a key.
std::string evidence_text(const Predicate& predicate, const std::vector<ReportFile>& reports, const PrivateKey* key);

// `invalid` names by its path what is no part of a statement of ours.
Result<Statement> read_statement(const nlohmann::json& document);

}  // namespace tokitai::evidence

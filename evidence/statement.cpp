#include "evidence/statement.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "evidence/envelope.h"
#include "machines/device/plan.h"
#include "reports/contract_json.h"

namespace tokitai::evidence {
namespace {

constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";

// Whether a source that is part of the library takes part in what was run.
bool takes_part(const Predicate& predicate, std::string_view path) {
  if (path.starts_with("numerics/") || path.starts_with("patterns/")) return true;
  if (path.starts_with("machines/")) return !predicate.kernels.empty();
  for (const OperatorEvidence& one : predicate.operators)
    if (const Contract* contract = find_contract(one.result.name); contract && definition_path(*contract) == path)
      return true;
  return false;
}

}  // namespace

std::vector<Subject> subjects_of(const Predicate& predicate) {
  std::vector<Subject> all;
  for (const device::Text& text : device::device_headers())
    if (takes_part(predicate, text.name)) all.push_back({std::string(text.name), base::sha256(text.text)});
  for (const OperatorEvidence& one : predicate.operators)
    all.push_back({"contract/" + one.result.name, one.contract_digest});
  for (const KernelFacts& kernel : predicate.kernels)
    all.push_back({"kernel/" + kernel.artifact_digest.substr(0, 16), kernel.artifact_digest});
  all.push_back({"tokitai", predicate.build.binary_digest});
  return all;
}

std::string evidence_text(const Predicate& predicate, const std::vector<ReportFile>& reports, const PrivateKey* key) {
  nlohmann::json subjects = nlohmann::json::array();
  const auto add = [&](const std::string& name, const std::string& digest) {
    subjects.push_back({{"name", name}, {"digest", {{"sha256", digest}}}});
  };
  for (const Subject& subject : subjects_of(predicate)) add(subject.name, subject.digest);
  for (const ReportFile& report : reports) add(report.name, base::sha256(report.text));
  const nlohmann::json statement = {{"_type", kStatementType},
                                    {"subject", subjects},
                                    {"predicateType", kPredicateType},
                                    {"predicate", to_json(predicate)}};
  return key != nullptr ? sealed(canonical(statement), *key)
                        : statement.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Statement> read_statement(const nlohmann::json& document) {
  Statement statement;
  Fields fields(document, "$");
  if (const std::string type = fields.string("_type"); type != kStatementType)
    fields.wrong("_type", fmt::format("is \"{}\"; it must be \"{}\"", type, kStatementType));
  if (const std::string type = fields.string("predicateType"); type != kPredicateType)
    fields.wrong("predicateType", fmt::format("is \"{}\"; only \"{}\" is known", type, kPredicateType));
  fields.array("subject", 1, 1000000, [&](Fields& s) {
    Subject& subject = statement.subjects.emplace_back();
    subject.name = s.string("name");
    s.object("digest", [&](Fields& d) { subject.digest = d.digest("sha256"); });
  });
  fields.object("predicate", [&](Fields& p) { statement.predicate = read_predicate(p); });
  if (Status s = fields.end(); !s.ok()) return s;
  return statement;
}

}  // namespace tokitai::evidence

#include "evidence/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/sha256.h"
#include "evidence/bundle.h"
#include "evidence/envelope.h"
#include "evidence/objections.h"

namespace tokitai::evidence {
namespace {

class Auditor {
 public:
  Auditor(const std::optional<PublicKey>& key, std::filesystem::path folder) : key_(key), folder_(std::move(folder)) {}

  Audit run(std::string_view text) {
    auto document = opened(text);
    if (!audit_.refused.ok() || failed()) return std::move(audit_);
    auto statement = read_statement(document);
    if (!statement.ok()) {
      no_evidence(statement.status().message());
      return std::move(audit_);
    }
    audit_.statement = std::move(statement).value();
    note("schema", Verdict::holds, fmt::format("version {}", kPredicateVersion));
    numbers();
    subjects();
    sources();
    proofs();
    reports();
    return std::move(audit_);
  }

 private:
  void note(std::string what, Verdict verdict, std::string text) {
    audit_.checks.push_back({std::move(what), verdict, std::move(text)});
  }
  bool failed() const {
    return std::any_of(audit_.checks.begin(), audit_.checks.end(),
                       [](const Check& check) { return check.verdict == Verdict::fails; });
  }
  // What could not be read as evidence at all.
  nlohmann::json no_evidence(std::string_view why) {
    audit_.refused = Status::invalid(fmt::format("this is no evidence: {}", why));
    return {};
  }

  // The statement's JSON, out of its envelope where it has one.
  nlohmann::json opened(std::string_view text) {
    auto document = parse_bounded(text);
    if (!document.ok()) return no_evidence(document.status().message());
    if (!document->is_object() || (!document->contains("payloadType") && !document->contains("_type")))
      return no_evidence("it is neither an in-toto statement nor a DSSE envelope");
    if (!document->contains("payloadType")) {
      if (key_)
        note("signature", Verdict::fails, "it is not signed, and a key was given");
      else
        note("signature", Verdict::not_checked, "it is not signed: nobody vouches for it");
      return std::move(document).value();
    }
    const auto envelope = read_envelope(text);
    if (!envelope.ok() && envelope.status().code() == Code::invalid) return no_evidence(envelope.status().message());
    if (!envelope.ok()) return note("envelope", Verdict::fails, envelope.status().message()), nlohmann::json();
    audit_.is_signed = true;
    audit_.keyid = envelope->keyid;
    if (!key_) {
      audit_.refused = Status::invalid(
          fmt::format("it is signed with key {}; name the file of that public key with --key", envelope->keyid));
      return {};
    }
    if (Status s = check_signature(envelope.value(), *key_); !s.ok())
      return note("signature", Verdict::fails, s.message()), nlohmann::json();
    note("signature", Verdict::holds, fmt::format("key {}", envelope->keyid));
    auto payload = parse_bounded(envelope->payload);
    if (!payload.ok()) return no_evidence(fmt::format("its payload: {}", payload.status().message()));
    return std::move(payload).value();
  }

  // What its own numbers say against it.
  void numbers() {
    const Predicate& p = audit_.statement->predicate;
    for (Objection& one : objections(p)) note(std::move(one.what), Verdict::fails, std::move(one.text));
    for (const std::string& sentence : non_claims_of(p.device))
      if (std::find(p.non_claims.begin(), p.non_claims.end(), sentence) == p.non_claims.end())
        note("non_claims", Verdict::fails, fmt::format("lack: {}", sentence));
    if (failed()) return;
    __int128 compared = 0;  // one count may be as large as 64 bits allow
    for (const OperatorEvidence& one : p.operators) compared += one.result.compared;
    note("result", Verdict::holds,
         fmt::format("{} outputs compared, none differs; {} problems", compared, p.problems.size()));
  }

  std::string digest_of_subject(std::string_view name) const {
    for (const Subject& subject : audit_.statement->subjects)
      if (subject.name == name) return subject.digest;
    return {};
  }

  // The subjects and the predicate name the same digests.
  void subjects() {
    const Predicate& p = audit_.statement->predicate;
    const auto same = [&](const std::string& name, const std::string& digest) {
      const std::string found = digest_of_subject(name);
      if (found.empty())
        note("subject " + name, Verdict::fails, "is missing");
      else if (found != digest)
        note("subject " + name, Verdict::fails, "has another digest than the predicate gives");
    };
    for (const OperatorEvidence& one : p.operators) {
      same("contract/" + one.result.name, one.contract_digest);
      same(fmt::format("operators/{}/definition.h", one.result.name.substr(0, one.result.name.find('.'))),
           one.definition_digest);
    }
    for (const KernelFacts& kernel : p.kernels)
      same("kernel/" + kernel.artifact_digest.substr(0, 16), kernel.artifact_digest);
    same("tokitai", p.build.binary_digest);
  }

  // Proofs are of this program's text, and of all that was claimed.
  void proofs() {
    const auto& proofs = audit_.statement->predicate.proofs;
    if (!proofs) return;
    const std::map<std::string, std::string> said(proofs->functions.begin(), proofs->functions.end());
    for (const auto& [name, digest] : said)
      if (source_digest(name) != digest) note("proved functions " + name, Verdict::fails, "differ from this tokitai's");
    for (const auto& [name, digest] : proved_functions())
      if (!said.contains(name)) note("proved functions " + name, Verdict::fails, "are not among those of the proofs");
    __int128 claims = 0;
    for (const ProofFigures& one : proofs->patterns) claims += one.claims;
    note("proofs", Verdict::not_checked, fmt::format("{} claims; tokitai prove decides them again", claims));
  }

  // What this program has under the same names.
  void sources() {
    const Predicate& p = audit_.statement->predicate;
    std::size_t contracts = 0, texts = 0;
    for (const OperatorEvidence& one : p.operators) {
      const Contract* contract = find_contract(one.result.name);
      const std::string what = "contract " + one.result.name;
      if (contract == nullptr)
        note(what, Verdict::fails, "this tokitai has no such operator");
      else if (contract_digest(*contract) != one.contract_digest)
        note(what, Verdict::fails, "differs from this tokitai's: it promises something else");
      else if (!says_the_same(*contract, one))
        note(what, Verdict::fails, "has another digest than the claims that are given for it");
      else
        ++contracts;
    }
    std::map<std::string, int> times;
    std::set<std::string> named;  // by the predicate
    for (const Subject& subject : subjects_of(p)) named.insert(subject.name);
    for (const Subject& subject : audit_.statement->subjects) {
      if (++times[subject.name] == 2) note("subject " + subject.name, Verdict::fails, "stands twice");
      if (is_elsewhere(subject.name)) {
        if (!is_report(subject.name) && !named.contains(subject.name))
          note("subject " + subject.name, Verdict::fails, "nothing in the predicate speaks of it");
        continue;
      }
      const std::string ours = source_digest(subject.name);
      if (ours.empty())
        note("source " + subject.name, Verdict::fails, "this tokitai has no such source");
      else if (ours != subject.digest)
        note("source " + subject.name, Verdict::fails, "differs from this tokitai's");
      else
        ++texts;
    }
    for (const std::string& name : named)
      if (digest_of_subject(name).empty())
        note("subject " + name, Verdict::fails, "takes part and is not among the subjects");
    if (contracts == p.operators.size())
      note("contracts", Verdict::holds, fmt::format("{}, each word as in this tokitai", contracts));
    note("sources", texts > 0 ? Verdict::holds : Verdict::not_checked, fmt::format("{} as in this tokitai", texts));
    const bool same_program = build_facts().binary_digest == p.build.binary_digest;
    note("program", Verdict::not_checked,
         same_program ? "made by this very program" : "made by another build; --replay compares what it computed");
    if (!p.kernels.empty())
      note("kernels", Verdict::not_checked,
           fmt::format("{} compiled kernels; tokitai compile makes them again from the sources", p.kernels.size()));
  }
  static bool says_the_same(const Contract& contract, const OperatorEvidence& one) {
    return one.summary == contract.summary && one.claims == claims_of(contract) &&
           std::equal(contract.non_claims.begin(), contract.non_claims.end(), one.non_claims.begin(),
                      one.non_claims.end());
  }
  // Contracts, kernels, the program and the reports are looked at on their own.
  static bool is_elsewhere(std::string_view name) {
    return name.starts_with("contract/") || name.starts_with("kernel/") || name == "tokitai" || is_report(name);
  }
  static bool is_report(std::string_view name) {
    return std::find(std::begin(kReportFiles), std::end(kReportFiles), name) != std::end(kReportFiles);
  }

  void reports() {
    for (const Subject& subject : audit_.statement->subjects) {
      if (!is_report(subject.name)) continue;
      std::error_code error;
      const std::filesystem::path path = folder_ / subject.name;
      if (folder_.empty() ||
          std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found) {
        note(subject.name, Verdict::not_checked, "does not lie beside it");
        continue;
      }
      const auto text = read_bounded(path);
      if (!text.ok())
        note(subject.name, Verdict::fails, text.status().message());
      else if (base::sha256(text.value()) != subject.digest)
        note(subject.name, Verdict::fails, "was changed");
      else
        note(subject.name, Verdict::holds, "unchanged");
    }
  }

  const std::optional<PublicKey>& key_;
  const std::filesystem::path folder_;
  Audit audit_;
};

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return "holds";
    case Verdict::fails: return "FAILS";
    case Verdict::not_checked: return "-";
  }
  return "?";
}

Status Audit::status() const {
  if (!refused.ok()) return refused;
  for (const Check& check : checks)
    if (check.verdict == Verdict::fails)
      return {Code::check_failed, fmt::format("the evidence does not hold: {}: {}", check.what, check.text)};
  return {};
}

Audit audit(std::string_view text, const std::optional<PublicKey>& key, const std::filesystem::path& folder) {
  return Auditor(key, folder).run(text);
}

Result<std::string> read_bounded(const std::filesystem::path& path) {
  auto text = base::read_file(path, kLargestDocument);
  return text.ok() ? std::move(text) : Status::invalid(text.status().message());
}

}  // namespace tokitai::evidence

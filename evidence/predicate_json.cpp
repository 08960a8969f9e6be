// The predicate as JSON and back; docs/schema/evidence.schema.json says the same to others.
#include <fmt/format.h>

#include "evidence/predicate.h"
#include "problems/instance.h"
#include "reports/facts_json.h"

namespace tokitai::evidence {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostEntries = 1000000;

Json digests_json(const NamedDigests& digests) {
  Json all = Json::object();
  for (const auto& [name, digest] : digests) all[name] = digest;
  return all;
}

template <class Counted> Json counts_json(const Counted& r) {
  Json j = {{"runs", r.runs}, {"outputs_compared", r.compared}, {"mismatches", r.mismatches}, {"failed", r.failed}};
  if (r.checks.accesses > 0 || r.checks.findings > 0)
    j["accesses_checked"] = r.checks.accesses, j["findings"] = r.checks.findings;
  return j;
}
template <class Counted> void read_counts(Fields& f, Counted& r) {
  r.runs = f.integer("runs");
  r.compared = f.integer("outputs_compared");
  r.mismatches = f.integer("mismatches");
  r.failed = f.integer("failed");
  if (f.has("accesses_checked")) r.checks = {f.integer("accesses_checked"), f.integer("findings")};
}

Json problem_json(const ProblemResult& r) {
  Json j = counts_json(r);
  j["line"] = r.line;
  j["seed"] = problems::kSeed;
  j["inputs"] = digests_json(r.inputs);
  j["outputs"] = digests_json(r.outputs);
  if (!r.failure.empty()) j["failure"] = r.failure;
  return j;
}
ProblemResult read_problem(Fields& f) {
  ProblemResult r;
  read_counts(f, r);
  r.line = f.string("line");
  r.name = r.line.substr(0, r.line.find(' '));
  if (f.integer("seed") != std::int64_t{problems::kSeed})
    f.wrong("seed", fmt::format("is not {}, the only one there is", problems::kSeed));
  r.inputs = f.digests("inputs");
  r.outputs = f.digests("outputs");
  if (f.has("failure")) r.failure = f.string("failure");
  return r;
}

Json error_json(const ErrorFigures& e) {
  return {{"outputs", e.outputs},
          {"exceeded", e.exceeded},
          {"worst_ulp", e.worst_ulp},
          {"bound_ulp", e.bound_ulp},
          {"tightest", e.tightest},
          {"bin_edges", e.bin_edges},
          {"bins", e.bins}};
}
ErrorFigures read_error(Fields& f) {
  ErrorFigures e;
  e.outputs = f.integer("outputs");
  e.exceeded = f.integer("exceeded");
  e.worst_ulp = f.number("worst_ulp");
  e.bound_ulp = f.number("bound_ulp");
  e.tightest = f.number("tightest");
  e.bin_edges = f.numbers("bin_edges");
  e.bins = f.integers("bins");
  if (e.bin_edges.size() != e.bins.size() + 1) f.wrong("bin_edges", "does not have one entry more than bins");
  return e;
}

Json speed_json(const SpeedFigures& s) {
  return {{"problem", s.problem}, {"repetitions", s.repetitions},    {"seconds", s.seconds}, {"bytes", s.bytes},
          {"flops", s.flops},     {"copy_gb_per_s", s.copy_gb_per_s}};
}
SpeedFigures read_speed(Fields& f) {
  SpeedFigures s;
  s.problem = f.string("problem");
  s.repetitions = f.integer("repetitions");
  s.seconds = f.number("seconds");
  s.bytes = f.integer("bytes");
  s.flops = f.integer("flops");
  s.copy_gb_per_s = f.number("copy_gb_per_s");
  if (s.seconds <= 0 || s.copy_gb_per_s <= 0) f.wrong("seconds", "or copy_gb_per_s is 0");
  return s;
}

Json operator_json(const OperatorEvidence& o) {
  Json j = counts_json(o.result);
  j["name"] = o.result.name;
  j["summary"] = o.summary;
  j["problems"] = o.result.problems;
  j["contract_sha256"] = o.contract_digest;
  j["definition_sha256"] = o.definition_digest;
  j["claims"] = o.claims;
  j["non_claims"] = o.non_claims;
  if (!o.result.first_failure.empty()) j["first_failure"] = o.result.first_failure;
  if (o.error) j["error"] = error_json(*o.error);
  if (o.speed) j["speed"] = speed_json(*o.speed);
  return j;
}
OperatorEvidence read_operator(Fields& f) {
  OperatorEvidence o;
  read_counts(f, o.result);
  o.result.name = f.string("name");
  o.summary = f.string("summary");
  o.result.problems = f.integer("problems");
  o.contract_digest = f.digest("contract_sha256");
  o.definition_digest = f.digest("definition_sha256");
  o.claims = f.strings("claims");
  o.non_claims = f.strings("non_claims");
  if (f.has("first_failure")) o.result.first_failure = f.string("first_failure");
  if (f.has("error")) f.object("error", [&](Fields& e) { o.error = read_error(e), o.error->name = o.result.name; });
  if (f.has("speed")) f.object("speed", [&](Fields& s) { o.speed = read_speed(s), o.speed->name = o.result.name; });
  return o;
}

KernelFacts read_kernel(Fields& f) {
  return {f.string("label"),   f.string("target"),          f.digest("source_sha256"), f.string("toolchain"),
          f.string("command"), f.digest("artifact_sha256"), f.string("audit")};
}

Json proofs_json(const ProofEvidence& proofs) {
  Json patterns = Json::array();
  for (const ProofFigures& p : proofs.patterns)
    patterns.push_back({{"name", p.name},
                        {"plans", p.plans},
                        {"claims", p.claims},
                        {"proved", p.proved},
                        {"seconds", p.seconds},
                        {"slowest_seconds", p.slowest_seconds}});
  return {{"solver", proofs.solver}, {"patterns", patterns}, {"functions_sha256", digests_json(proofs.functions)}};
}
ProofEvidence read_proofs(Fields& f) {
  ProofEvidence proofs;
  proofs.solver = f.string("solver");
  f.array("patterns", 1, 1000, [&](Fields& p) {
    proofs.patterns.push_back({p.string("name"), p.integer("plans"), p.integer("claims"), p.integer("proved"),
                               p.number("seconds"), p.number("slowest_seconds")});
    if (proofs.patterns.back().proved > proofs.patterns.back().claims) p.wrong("proved", "is more than claims");
  });
  proofs.functions = f.digests("functions_sha256");
  return proofs;
}

}  // namespace

Json to_json(const Predicate& p) {
  Json operators = Json::array(), problems = Json::array(), kernels = Json::array();
  for (const OperatorEvidence& o : p.operators) operators.push_back(operator_json(o));
  for (const ProblemResult& r : p.problems) problems.push_back(problem_json(r));
  for (const KernelFacts& k : p.kernels) kernels.push_back(to_json(k));
  Json all = {{"version", kPredicateVersion},
              {"tokitai", p.tokitai},
              {"made", p.made},
              {"device", {{"name", p.device}, {"description", p.description}, {"against", p.against}}},
              {"variants", p.variants},
              {"machine", to_json(p.machine)},
              {"build", to_json(p.build)},
              {"kernels", kernels},
              {"operators", operators},
              {"problems", problems},
              {"non_claims", p.non_claims}};
  if (p.proofs) all["proofs"] = proofs_json(*p.proofs);
  return all;
}

Predicate read_predicate(Fields& f) {
  Predicate p;
  // The version is asked first: another may have other fields.
  if (const std::int64_t version = f.integer("version"); version != kPredicateVersion)
    f.wrong("version", fmt::format("is {}; only {} is known", version, kPredicateVersion));
  p.tokitai = f.string("tokitai");
  p.made = f.string("made");
  f.object("device", [&](Fields& d) {
    p.device = d.string("name");
    p.description = d.string("description");
    p.against = d.string("against");
  });
  p.variants = f.strings("variants");
  f.object("machine", [&](Fields& m) { p.machine = {m.string("system"), m.string("processor"), m.integer("cores")}; });
  f.object("build", [&](Fields& b) { p.build = {b.string("compiler"), b.string("flags"), b.digest("binary_sha256")}; });
  f.array("kernels", 0, kMostEntries, [&](Fields& k) { p.kernels.push_back(read_kernel(k)); });
  f.array("operators", 1, 1000, [&](Fields& o) { p.operators.push_back(read_operator(o)); });
  f.array("problems", 1, kMostEntries, [&](Fields& r) { p.problems.push_back(read_problem(r)); });
  p.non_claims = f.strings("non_claims");
  if (f.has("proofs")) f.object("proofs", [&](Fields& proofs) { p.proofs = read_proofs(proofs); });
  return p;
}

}  // namespace tokitai::evidence

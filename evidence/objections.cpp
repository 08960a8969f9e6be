#include "evidence/objections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compiler/target.h"
#include "contract/roles.h"
#include "evidence/replay.h"
#include "machines/device/compile_ahead.h"
#include "machines/gpu/driver.h"

namespace tokitai::evidence {
namespace {

// Counts come from a file that anyone may have written: a million of them, each below 2^63, fit into this.
using Sum = __int128;

struct Sums {
  Sum problems = 0, runs = 0, compared = 0, mismatches = 0, failed = 0, accesses = 0, findings = 0;

  bool equal(const OperatorResult& said) const {
    return problems == said.problems && runs == said.runs && compared == said.compared &&
           mismatches == said.mismatches && failed == said.failed && accesses == said.checks.accesses &&
           findings == said.checks.findings;
  }
};

// All that a device may be called; whether it is here does not matter.
bool names_device(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  if (kind == "unix") return !rest.empty() && !rest.starts_with("worker:");
  if (kind == "worker") return !rest.starts_with("worker:") && !rest.starts_with("unix:") && names_device(rest);
  if (gpu::names_gpu(name)) return !rest.empty() && gpu::parse_name(name).ok();
  if (kind == "lockstep")
    return rest.empty() ? colon == std::string_view::npos : rest == "64" || compiler::find_target(rest).ok();
  return name == "cpu" || name == "reference";
}

Sum outputs_of(const Call& call) {
  Sum all = 0;
  for (const Operands& set : call.contract->list ? call.list : std::vector{call.operands})
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
      if (set[i].present() && writes(call.contract->operands[i])) all += set[i].elements();
  return all;
}

class Objector {
 public:
  explicit Objector(const Predicate& predicate) : p_(predicate) {}

  std::vector<Objection> run() {
    device();
    std::map<std::string, Sums> sums;
    for (const ProblemResult& one : p_.problems) problem(one, sums[one.name]);
    for (const OperatorEvidence& one : p_.operators) {
      if (!sums[one.result.name].equal(one.result))
        object("counts of " + one.result.name, "are not the sums over its problems");
      sums.erase(one.result.name);
      result(one.result);
      if (one.error) error(*one.error);
      if (one.speed) speed(*one.speed);
    }
    for (const auto& [name, sum] : sums) object("operator " + name, "has problems but is not among the operators");
    for (const KernelFacts& kernel : p_.kernels)
      if (kernel.audit != device::kNothingForbidden && kernel.audit != device::kCheckedAsItRan)
        object("kernel " + kernel.label, fmt::format("its audit says: {}", kernel.audit));
    if (p_.proofs)
      for (const ProofFigures& one : p_.proofs->patterns)
        if (one.proved != one.claims || one.claims == 0 || one.plans == 0)
          object("proofs of " + one.name, "not every claim is proved");
    return std::move(all_);
  }

 private:
  void object(std::string what, std::string text) { all_.push_back({std::move(what), std::move(text)}); }

  void device() {
    // The reference says what is right, but for GPUs, whose problems would take it hours.
    if (p_.against != (gpu::names_gpu(p_.device) ? "cpu" : "reference"))
      object("device", fmt::format("{} was compared with {}", p_.device, p_.against));
    if (!names_device(p_.device)) object("device", fmt::format("there is no device '{}'", p_.device));
    if (p_.variants.empty()) object("variants", "no way of running is named");
    std::set<std::string> known;
    for (const std::string& variant : p_.variants)
      if (!known.insert(variant).second) object("variants", fmt::format("'{}' stands twice", variant));
  }

  void problem(const ProblemResult& one, Sums& sums) {
    ++sums.problems;
    sums.runs += one.runs, sums.compared += one.compared;
    sums.mismatches += one.mismatches, sums.failed += one.failed;
    sums.accesses += one.checks.accesses, sums.findings += one.checks.findings;
    const std::string what = "problem " + one.line;
    if (one.runs > std::ssize(p_.variants)) object(what, "was run more often than there are ways");
    line(what, one);
    if (one.failed != 0) return;  // its operator's result says so
    if (one.runs == 0) object(what, "was not run");
    if (!one.failure.empty()) object(what, fmt::format("failed: {}", one.failure));
    if (one.compared == 0) object(what, "nothing was compared");
    if (one.inputs.empty()) object(what, "no digest of its inputs is recorded");
    if (one.outputs.empty()) object(what, "no digest of its outputs is recorded");
  }

  // What it says beside what its line asks for. Looking at a line takes memory by the tensor.
  void line(const std::string& what, const ProblemResult& one) {
    if (tensors_ > kMostTensors) return;
    const auto problem = single_problem(one.line);
    if (!problem.ok()) return object(what, problem.status().message());
    tensors_ += problem->list.size();
    if (tensors_ > kMostTensors)
      return object("problems", fmt::format("have more than {} tensors in all", kMostTensors));
    if (!lines_.insert(problem->text()).second) object(what, "stands twice");
    const auto call = problems::call_without_memory(problem.value());
    if (!call.ok()) return object(what, call.status().message());
    if (const Sum outputs = outputs_of(call.value()); one.compared > outputs * one.runs)
      object(what, fmt::format("{} outputs were compared, of {} runs of {} outputs", one.compared, one.runs, outputs));
  }

  void result(const OperatorResult& said) {
    const std::string what = "result of " + said.name;
    if (said.mismatches != 0 || said.failed != 0)
      object(what, fmt::format("{} outputs differed and {} runs failed", said.mismatches, said.failed));
    else if (!said.first_failure.empty())
      object(what, fmt::format("failed: {}", said.first_failure));
    else if (said.compared == 0)
      object(what, "nothing was compared");
    if (said.checks.findings != 0) object(what, fmt::format("{} findings of the access checks", said.checks.findings));
    if (p_.device.starts_with("lockstep") && said.checks.accesses == 0) object(what, "no access was checked");
  }

  void error(const ErrorFigures& e) {
    const std::string what = "true errors of " + e.name;
    const Sum binned = std::accumulate(e.bins.begin(), e.bins.end(), Sum{0});
    if (e.exceeded != 0) object(what, fmt::format("{} outputs are beyond their derived bound", e.exceeded));
    if (e.outputs == 0) object(what, "no output was measured");
    if (!(e.worst_ulp <= e.bound_ulp) || !(e.tightest <= 1))
      object(what, fmt::format("{} ulp are beyond the derived bound, {}", e.worst_ulp, e.bound_ulp));
    if (binned != e.outputs || !std::is_sorted(e.bin_edges.begin(), e.bin_edges.end()))
      object(what, "the histogram is not one of all outputs");
  }

  void speed(const SpeedFigures& s) {
    if (s.repetitions == 0 || s.bytes == 0 || s.problem.substr(0, s.problem.find(' ')) != s.name)
      object("speed of " + s.name, "was not measured");
  }

  static constexpr std::size_t kMostTensors = 1 << 20;
  const Predicate& p_;
  std::vector<Objection> all_;
  std::set<std::string> lines_;
  std::size_t tensors_ = 0;
};

}  // namespace

std::vector<Objection> objections(const Predicate& predicate) { return Objector(predicate).run(); }

Status judged(const Predicate& predicate) {
  const std::vector<Objection> all = objections(predicate);
  if (all.empty()) return {};
  return {Code::check_failed, fmt::format("{}: {}{}", all[0].what, all[0].text,
                                          all.size() == 1 ? "" : fmt::format(" (and {} more)", all.size() - 1))};
}

}  // namespace tokitai::evidence

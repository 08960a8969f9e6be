#include "proofs/scope.h"

#include <fmt/format.h>

#include <chrono>

namespace tokitai::proofs {

void Report::decide(std::string_view claim, const z3::expr& assumptions, const z3::expr& statement,
                    const std::vector<Word>& words) {
  if (settings_.wanted && !settings_.wanted(claim)) return;
  z3::solver solver(context_, z3::solver::simple());
  solver.set("timeout", static_cast<unsigned>(settings_.timeout_ms));
  solver.add(assumptions);
  solver.add(!statement);
  Outcome o;
  if (settings_.smt2) o.smt2 = solver.to_smt2();
  ask(solver, assumptions, words, o);
  o.pattern = pattern_;
  o.part = part_;
  o.claim = claim;
  outcomes_.push_back(std::move(o));
}

void Report::ask(z3::solver& solver, const z3::expr& assumptions, const std::vector<Word>& words, Outcome& o) {
  const auto begin = std::chrono::steady_clock::now();
  const z3::check_result answer = solver.check();
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (answer == z3::unsat) {
    // From assumptions that contradict each other everything follows: that is no proof.
    if (possible(assumptions))
      o.verdict = Verdict::proved;
    else
      o.counterexample = "what is assumed contradicts itself";
  } else if (answer == z3::sat) {
    o.verdict = Verdict::refuted;
    const z3::model model = solver.get_model();
    for (const Word& word : words)
      o.counterexample += fmt::format("{}{} = {}", o.counterexample.empty() ? "" : ", ", word.name,
                                      model.eval(word.value, true).to_string());
  } else {
    o.counterexample = fmt::format("the solver gives no answer: {}", solver.reason_unknown());
  }
}

bool Report::possible(const z3::expr& assumptions) {
  if (possible_ && z3::eq(*possible_, assumptions)) return true;
  z3::solver solver(context_, z3::solver::simple());
  solver.set("timeout", static_cast<unsigned>(settings_.timeout_ms));
  solver.add(assumptions);
  if (solver.check() != z3::sat) return false;
  possible_ = assumptions;
  return true;
}

z3::expr Scope::assumptions() const {
  z3::expr all = yes();
  for (const z3::expr& e : assumptions_) all = all && e;
  for (const z3::expr& e : ledger_.facts) all = all && e;
  return all;
}

void Scope::claim_arithmetic(std::string_view name) {
  z3::expr all = yes();
  for (const z3::expr& note : ledger_.notes) all = all && note;
  claim(name, all);
}

}  // namespace tokitai::proofs

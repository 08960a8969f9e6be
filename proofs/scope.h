// Claims about one part of a plan. A Report holds their outcomes; a Scope holds the numbers a few claims speak about (a
// thread, a row, a size), what is assumed about them, and what the arithmetic on them must keep to.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proofs/outcome.h"
#include "proofs/symbol.h"

namespace tokitai::proofs {

// A number that a counterexample is told in.
struct Word {
  std::string name;
  z3::expr value;
};

class Report {
 public:
  Report(std::string pattern, std::string part, const Settings& settings)
      : pattern_(std::move(pattern)), part_(std::move(part)), settings_(settings) {}
  z3::context& context() { return context_; }
  // Decides whether the statement follows; `words` are the numbers a counterexample is told in.
  void decide(std::string_view claim, const z3::expr& assumptions, const z3::expr& statement,
              const std::vector<Word>& words);
  const std::vector<Outcome>& outcomes() const { return outcomes_; }

 private:
  bool possible(const z3::expr& assumptions);
  void ask(z3::solver& solver, const z3::expr& assumptions, const std::vector<Word>& words, Outcome& outcome);

  z3::context context_;
  std::string pattern_, part_;
  Settings settings_;
  std::optional<z3::expr> possible_;  // the last assumptions that were seen to be possible
  std::vector<Outcome> outcomes_;
};

class Scope {
 public:
  explicit Scope(Report& report) : report_(report), ledger_(report.context()) {}

  // Any number from `first` to before `end`.
  template <class T> Symbol<T> any(const std::string& name, i64 first, i64 end) {
    std::string symbol = name;
    std::replace(symbol.begin(), symbol.end(), '\'', '!');  // SMT-LIB has no primes
    const z3::expr e = report_.context().int_const(symbol.c_str());
    words_.push_back({name, e});
    assume(e >= number(first) && e < number(end));
    return {ledger_, e};
  }
  template <class T> Symbol<T> symbol(const z3::expr& e) { return {ledger_, e}; }
  z3::expr number(i64 v) const { return ledger_.number(v); }
  z3::expr yes() const { return report_.context().bool_val(true); }
  Ledger& ledger() { return ledger_; }

  void assume(const z3::expr& e) { assumptions_.push_back(e); }
  void assume(const Truth& t) { assume(t.value); }
  void claim(std::string_view claim, const z3::expr& statement) {
    report_.decide(claim, assumptions(), statement, words_);
  }
  void claim(std::string_view name, const Truth& statement) { claim(name, statement.value); }
  // A step of a longer argument: claimed like everything else, then assumed.
  void lemma(std::string_view name, const z3::expr& statement) {
    claim(name, statement);
    assume(statement);
  }
  // That everything computed in this scope so far is what C++ computes.
  void claim_arithmetic(std::string_view claim);

 private:
  z3::expr assumptions() const;

  Report& report_;
  Ledger ledger_;
  std::vector<z3::expr> assumptions_;
  std::vector<Word> words_;
};

}  // namespace tokitai::proofs

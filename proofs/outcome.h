// What became of a claim. No solver's type is named here: whoever reads outcomes needs none.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tokitai::proofs {

enum class Verdict : std::uint8_t { proved, refuted, undecided };
constexpr const char* name_of(Verdict v) {
  return v == Verdict::proved ? "proved" : v == Verdict::refuted ? "refuted" : "undecided";
}

struct Outcome {
  std::string pattern;
  std::string part;   // the constants of plans that it holds for, in words
  int plans = 0;      // that have this part
  std::string claim;  // a sentence
  Verdict verdict = Verdict::undecided;
  double seconds = 0;
  std::string counterexample;  // block, thread, row ... where the claim fails; or why it is undecided
  std::string smt2;            // the question as SMT-LIB text: unsat where the claim holds
};

struct Settings {
  int timeout_ms = 10000;                                        // of one claim
  bool smt2 = false;                                             // whether outcomes carry their SMT-LIB text
  std::function<bool(std::string_view claim)> wanted = nullptr;  // claims that are decided; all where there is none
};

}  // namespace tokitai::proofs

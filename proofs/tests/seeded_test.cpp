// Index functions broken on purpose: each must be refuted, by the claim that it breaks and with numbers that show it.
// The unbroken functions must pass the same parts of plans, so that what is refuted is the fault.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/at_once.h"
#include "proofs/claims.h"
#include "proofs/tests/faults.h"
#include "proofs/tests/samples.h"
#include "testing/thorough.h"

namespace tokitai::proofs {
namespace {

// Whether the claim is one of these, which " | " stands between.
bool is_one_of(std::string_view words, std::string_view claim) {
  for (;;) {
    const std::size_t end = words.find(" | ");
    if (claim.find(words.substr(0, end)) != std::string_view::npos) return true;
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 3);
  }
}

// What does not hold of the samples with these functions, of all claims or of those with these words; nothing more is
// looked for once one of them is refuted.
std::vector<Outcome> failures(const Functions& functions, const std::string& claims) {
  std::vector<Outcome> out;
  Settings settings;
  settings.wanted = [&](std::string_view claim) { return is_one_of(claims, claim); };
  settings.timeout_ms = 4000;
  const auto refuted = [](const Outcome& o) { return o.verdict == Verdict::refuted; };
  for (const Part& sample : samples()) {
    if (std::any_of(out.begin(), out.end(), refuted)) break;
    Report report(pattern_of(sample), words_of(sample), settings);
    std::visit([&](const auto& part) { claim(part, functions, report); }, sample);
    for (const Outcome& o : report.outcomes())
      if (o.verdict != Verdict::proved) out.push_back(o);
  }
  return out;
}

TEST(Seeded, NothingIsRefutedUnbroken) {
  for (const Outcome& o : failures({}, "")) ADD_FAILURE() << o.claim << " (" << o.part << "): " << o.counterexample;
}

// TOKITAI_FAULT=WORDS tries only faults with these words in their name, and prints what refutes them.
TEST(Seeded, EveryFaultIsRefuted) {
  const char* only = std::getenv("TOKITAI_FAULT");
  std::vector<Fault> chosen = faults();
  EXPECT_GE(chosen.size(), 100U);
  if (only != nullptr)
    std::erase_if(chosen, [&](const Fault& f) { return f.name.find(only) == std::string::npos; });
  else
    chosen = testing::sample(chosen, 6);
  std::vector<std::vector<Outcome>> found(chosen.size());
  base::at_once(chosen.size(), [&](std::size_t i) {
    Functions functions;
    chosen[i].seed(functions);
    found[i] = failures(functions, chosen[i].claim);
  });
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    SCOPED_TRACE(chosen[i].name);
    bool refuted = false;
    for (const Outcome& o : found[i]) {
      if (only != nullptr)
        fmt::print("{}: {}: {}\n  {}\n  {}\n", chosen[i].name, name_of(o.verdict), o.claim, o.part, o.counterexample);
      // By numbers that are named; a claim about constants has none.
      const bool shown = o.counterexample.empty() || o.counterexample.find(" = ") != std::string::npos;
      refuted = refuted || (o.verdict == Verdict::refuted && shown);
    }
    EXPECT_TRUE(refuted) << "not refuted by: " << chosen[i].claim;
  }
}

// A claim over numbers that cannot exist is no proof.
TEST(Seeded, ContradictingAssumptionsProveNothing) {
  Report report("", "", {});
  Scope s(report);
  const Symbol<int> x = s.any<int>("x", 5, 5);
  s.claim("nothing is something", *x == *x + 1);
  EXPECT_EQ(report.outcomes()[0].verdict, Verdict::undecided);
}
// What an int cannot hold is noticed, and what it can is not.
TEST(Seeded, OverflowIsRefuted) {
  for (const bool fits : {true, false}) {
    Report report("", "", {});
    Scope s(report);
    const Symbol<int> x = s.any<int>("x", 0, fits ? 1 << 20 : 1 << 21);
    (void)(x * 2047);
    s.claim_arithmetic("no index leaves its type");
    EXPECT_EQ(report.outcomes()[0].verdict, fits ? Verdict::proved : Verdict::refuted);
  }
}
// A claim that takes longer than it may is undecided.
TEST(Seeded, ATimeLimitIsKept) {
  Report report("", "", {1, false});
  Scope s(report);
  const z3::expr a = *s.any<i64>("a", 2, i64{1} << 62), b = *s.any<i64>("b", 2, i64{1} << 62);
  const z3::expr c = *s.any<i64>("c", 2, i64{1} << 62);
  s.claim("no cube is the sum of two", a * a * a + b * b * b != c * c * c);
  EXPECT_EQ(report.outcomes()[0].verdict, Verdict::undecided);
}

}  // namespace
}  // namespace tokitai::proofs

// What a journal promises: a step that is ended after any instruction, and taken on by another machine, has the bits of
// one that nobody disturbed.
#include "patterns/journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "reports/compare.h"
#include "runtime/journal_keeper.h"
#include "testing/interrupted.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

using testing::Interrupted;

struct Case {
  std::string isa;  // empty: the reference
  const char* line;
};
std::vector<Case> cases() {
  // Pieces of 64: whole ones that are kept ahead, last ones that are short, tensors of less than one. Every type on the
  // best instruction set; the others, which take more instructions, once.
  std::vector<Case> all = {{cpu_isas().front(), "adamw.step n=130 t=2 type=bf16 master=yes skip_nonfinite=1"},
                           {cpu_isas().front(), "adamw.step n=129+7 t=2 type=f32"},
                           {cpu_isas().front(), "adamw.step n=0+3+131 t=2 type=f16 master=yes+no shift=1"},
                           {"", "adamw.step n=67 t=2 type=bf16 master=yes skip_nonfinite=1"},
                           {cpu_isas().front(), "adamw.step n=131+7 t=2 type=f16 scale=yes norm=yes outcome=yes"}};
  for (const std::string& isa : cpu_isas()) all.push_back({isa, "adamw.step n=3+0+131+1 t=2 type=f16"});
  return all;
}
Device device_of(const std::string& isa) {
  return (isa.empty() ? open("reference") : open("cpu", {.threads = 1, .isa = isa})).value();
}
problems::Problem problem_of(const char* line) { return problems::parse_problems(line).value().front(); }

class Ended : public ::testing::TestWithParam<Case> {};

TEST_P(Ended, AfterAnyInstructionItIsTakenOnByAnotherMachine) {
  const Interrupted step = Interrupted::make(problem_of(GetParam().line)).value();
  Device ended = device_of(GetParam().isa), reference = device_of(""), cpu = device_of(cpu_isas().front());
  const auto found = step.at_every_instant(ended, GetParam().isa.empty() ? cpu : reference);
  if (!found.traced) GTEST_SKIP() << "this system lets nobody trace a process";
  EXPECT_EQ(found.first_failure, "");
  EXPECT_GT(found.instants, 30);
}
INSTANTIATE_TEST_SUITE_P(Journal, Ended, ::testing::ValuesIn(cases()), [](const auto& p) {
  return (p.param.isa.empty() ? "reference" : p.param.isa) + std::to_string(p.index);
});

// And whoever takes it on is ended in turn.
TEST(Journal, OneThatTakesOnMayBeEndedToo) {
  const Interrupted step = Interrupted::make(problem_of("adamw.step n=3+195 t=2 type=f16")).value();
  Device cpu = device_of(cpu_isas().front()), reference = device_of("");
  const auto first = step.at_every_instant(cpu, reference);
  if (!first.traced) GTEST_SKIP() << "this system lets nobody trace a process";
  for (std::size_t i = 0; i < first.states.size(); i += 13) {
    const auto second = step.at_every_instant(cpu, reference, &first.states[i]);
    ASSERT_EQ(second.first_failure, "") << "the first was ended at instant " << i;
  }
}

// The check of gradients comes before anything is written, and not again.
TEST(Journal, AStepThatHasBegunIsNotCalledOff) {
  for (const std::string& isa : {std::string(), cpu_isas().front()}) {
    Device device = device_of(isa);
    std::vector<float> theta(100, 1), m(100), v(100), grad(100, 1);
    grad[77] = std::numeric_limits<float>::infinity();
    AdamwTensor tensor{vector(theta.data(), 100), vector(m.data(), 100), vector(v.data(), 100),
                       vector(grad.data(), 100)};
    Call call = bind(AdamwStep{.tensors = {&tensor, 1}, .t = 1, .skip_nonfinite = true});
    std::vector<std::byte> memory(static_cast<std::size_t>(Journal::bytes(100)));
    const Journal journal(memory.data());
    journal.open(1);
    Outcome outcome;
    ASSERT_TRUE(run_behind(memory.data(), device, call, outcome).ok());
    EXPECT_TRUE(outcome.skipped);
    EXPECT_FALSE(journal.begun());
    EXPECT_EQ(theta, std::vector<float>(100, 1));
    journal.open(2);
    journal.begin();
    outcome = {};
    ASSERT_TRUE(run_behind(memory.data(), device, call, outcome).ok());
    EXPECT_FALSE(outcome.skipped);
    EXPECT_NE(theta[99], 1);
  }
}

// Several units and threads, one journal for many calls: what is done is not done twice.
TEST(Journal, ManyCallsAfterEachOther) {
  const auto problem = problem_of("adamw.step n=70001+5+0+140000 t=3 type=f16 master=no+yes shift=0+1+3");
  auto expected = problems::Instance::make(problem).value(), found = problems::Instance::make(problem).value();
  Device plain = open("reference").value();
  std::vector<std::byte> memory(static_cast<std::size_t>(Journal::bytes(210006)));
  for (const int threads : {1, 3}) {
    Device cpu = open("cpu", {.threads = threads}).value();
    for (std::uint64_t number = 1; number < 4; ++number) {
      Call call = expected.call();
      ASSERT_TRUE(plain.run(call).ok());
      call = found.call();
      Journal(memory.data()).open(10 * static_cast<std::uint64_t>(threads) + number);
      Outcome outcome;
      for (int again = 0; again < 2; ++again) ASSERT_TRUE(run_behind(memory.data(), cpu, call, outcome).ok());
      for (std::size_t t = 0; t < 4; ++t)
        for (std::size_t i = 0; i < 5; ++i)
          if (expected.sets()[t][i].present()) {
            ASSERT_EQ(evidence::compare(expected.sets()[t][i], found.sets()[t][i]).differing, 0) << t << " " << i;
          }
    }
  }
}

TEST(Journal, EveryOperatorThatUpdatesTheTensorsOfAListCanKeepOne) {
  for (const Contract* contract : contracts()) {
    const bool updates =
        std::any_of(contract->operands.begin(), contract->operands.end(),
                    [&](const OperandSpec& spec) { return writes(spec) && !contract->has_once(spec); });
    EXPECT_EQ(Journal::suits(*contract), contract->list && updates) << contract->name;
  }
}

}  // namespace
}  // namespace tokitai

// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"
#include "reports/compare.h"

namespace tokitai {
namespace {

TEST(AdamwEdges, EveryNanThatIsStoredIsCanonical) { expect_canonical_nans("adamw.step n=300 t=1"); }

TEST(AdamwEdges, SubnormalsAreKept) {
  expect_subnormal("adamw.step n=1 t=1", "m", [](const Operand& of) {
    set_all(of("m"), 3 * smallest(Type::f32));
    set_all(of("grad"), 0);
  });
  expect_subnormal("adamw.step n=1 t=1 lr=0", "theta",
                   [](const Operand& of) { set_all(of("theta"), three(of("theta"))); });
}

TEST(AdamwEdges, AGradientThatIsNotFiniteSpreads) {
  for (const float bad : {kInfinity, -kInfinity, kNan})
    on_every_device(
        in_every_type("adamw.step n=5 t=1 master=no,yes"),
        [&](const Operand& of) { reference::write(of("grad"), 3, 0, bad); },
        [&](const Operand& of) {
          EXPECT_TRUE(is_nan(value_at(of("theta"), 3)));
          for (const char* moment : {"m", "v"}) EXPECT_FALSE(std::isfinite(value_at(of(moment), 3)));
          for (const char* name : {"theta", "m", "v"}) EXPECT_TRUE(std::isfinite(value_at(of(name), 2)));
        });
}
// Also an empty tensor among them.
TEST(AdamwEdges, AnyGroupingIntoListsGivesTheSameBits) {
  for (const problems::Problem& problem :
       problems::parse_problems(in_every_type("adamw.step n=5+0+70001+9 t=3 master=no,yes")).value())
    for (Device& device : host_devices()) {
      SCOPED_TRACE(problem.text() + " on " + device.description());
      const auto together = problems::Instance::make(problem).value(),
                 apart = problems::Instance::make(problem).value();
      Call call = together.call();
      ASSERT_TRUE(device.run(call).ok());
      for (const Operands& set : apart.sets()) {
        Call one = apart.call();
        one.list = {set};
        if (set[0].elements() > 0) {
          ASSERT_TRUE(device.run(one).ok());
        }
      }
      for (std::size_t t = 0; t < apart.sets().size(); ++t)
        for (std::size_t i = 0; i < problem.contract->operands.size(); ++i)
          if (apart.sets()[t][i].elements() > 0) {
            EXPECT_EQ(evidence::compare(together.sets()[t][i], apart.sets()[t][i]).differing, 0);
          }
    }
}
TEST(AdamwEdges, ANegativeVGivesNan) {
  on_every_device(
      in_every_type("adamw.step n=3 t=1"), [](const Operand& of) { set_all(of("v"), -100); },
      [](const Operand& of) { EXPECT_TRUE(is_nan(value_at(of("theta"), 0))); });
}

// A norm decides alone: gradients that are not finite do not stop a step, and finite ones do not start it.
TEST(AdamwEdges, BehindANormItLooksAtTheNormAlone) {
  for (const float norm : {3.0f, kInfinity, kNan})
    for (const float grad : {1.0f, kInfinity})
      on_every_device(
          in_every_type("adamw.step n=5 t=1 lr=0.1 norm=yes outcome=yes skip_nonfinite=1"),
          [&](const Operand& of) {
            reference::write(of("norm"), 0, 0, norm);
            for (const char* name : {"theta", "m", "v"}) set_all(of(name), 1);
            set_all(of("grad"), grad);
          },
          [&](const Operand& of) {
            const bool skipped = !std::isfinite(norm);
            EXPECT_EQ(reference::read_integer(of("outcome"), 0), skipped ? 1 : 0);
            EXPECT_EQ(value_at(of("m"), 3) == 1, skipped || grad == 1);
            EXPECT_EQ(value_at(of("theta"), 3) == 1, skipped);
          });
}
TEST(AdamwEdges, TheOutcomeIsInMemoryWhereverAStepIsSkipped) {
  for (const float grad : {1.0f, kInfinity})
    on_every_device(
        in_every_type("adamw.step n=5 t=1 outcome=yes skip_nonfinite=0,1"),
        [&](const Operand& of) { set_all(of("grad"), grad); },
        [&](const Operand& of) {
          const std::int64_t outcome = reference::read_integer(of("outcome"), 0);
          EXPECT_TRUE(outcome == 0 || (outcome == 1 && grad == kInfinity));
        });
}

}  // namespace
}  // namespace tokitai

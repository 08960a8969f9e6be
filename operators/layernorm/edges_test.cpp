// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(LayernormEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("layernorm.forward rows=9 cols=100");
  expect_canonical_nans("layernorm.backward rows=9 cols=100");
}

TEST(LayernormEdges, SubnormalsAreKept) {
  expect_subnormal("layernorm.forward rows=1 cols=1", "y",
                   [](const Operand& of) { set_all(of("beta"), three(of("beta"))); });
  expect_subnormal("layernorm.backward rows=1 cols=1 single=no", "dbeta",
                   [](const Operand& of) { set_all(of("dy"), three(of("dy"))); });
}

TEST(LayernormEdges, ANanOrInfinityMakesItsRowNan) {
  for (const float bad : {kNan, kInfinity, -kInfinity})
    on_every_device(
        in_every_type("layernorm.forward rows=2 cols=300"),
        [&](const Operand& of) { reference::write(of("x"), 1, 7, bad); },
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_nan(value_at(of("y"), 1, c)));
          EXPECT_TRUE(is_nan(value_at(of("rstd"), 1)));
          const float mean = value_at(of("mean"), 1);
          EXPECT_TRUE(is_nan(bad) ? is_nan(mean) : mean == bad) << mean;
          EXPECT_TRUE(std::isfinite(value_at(of("y"), 0, 7)));
        });
}
TEST(LayernormEdges, ASumThatOverflowsGivesInfinityOrNan) {
  for (const bool both : {false, true})
    on_every_device(
        "layernorm.forward rows=1 cols=1024 type=bf16,f32",
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 1024; ++c)
            reference::write(of("x"), 0, c, both && c % 2 != 0 ? -largest(of("x").type) : largest(of("x").type));
        },
        [&](const Operand& of) {
          const float mean = value_at(of("mean"), 0);
          EXPECT_TRUE(both ? is_nan(mean) : mean == kInfinity) << mean;
        });
}
TEST(LayernormEdges, WithoutEpsNoVarianceMakesRstdInfinite) {
  on_every_device(
      "layernorm.forward rows=2 cols=2 eps=0 type=f32",
      [](const Operand& of) {
        set_row(of("x"), 0, {3, 3});
        set_row(of("x"), 1, {1e-30f, -1e-30f});  // whose squares are too small for f32
        set_all(of("gamma"), 2);
      },
      [](const Operand& of) {
        for (const std::int64_t r : {0, 1}) EXPECT_EQ(value_at(of("rstd"), r), kInfinity);
        for (const std::int64_t c : {0, 1}) EXPECT_TRUE(is_nan(value_at(of("y"), 0, c)));
        EXPECT_EQ(value_at(of("y"), 1, 0), kInfinity);
        EXPECT_EQ(value_at(of("y"), 1, 1), -kInfinity);
      });
}
TEST(LayernormEdges, TheBackwardTakesStatisticsAsGiven) {
  on_every_device(
      in_every_type("layernorm.backward rows=1 cols=2"),
      [](const Operand& of) {
        set_all(of("mean"), 1000);  // of no such x
        set_all(of("rstd"), 0);
      },
      [](const Operand& of) { EXPECT_EQ(value_at(of("dx"), 0, 0), 0); });
}

}  // namespace
}  // namespace tokitai

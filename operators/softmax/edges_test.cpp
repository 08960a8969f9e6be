// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(SoftmaxEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("softmax.forward rows=9 cols=100");
  expect_canonical_nans("softmax.backward rows=9 cols=100");
}

TEST(SoftmaxEdges, SubnormalsAreKept) {
  expect_subnormal("softmax.backward rows=1 cols=2", "dx", [](const Operand& of) {
    set_row(of("dy"), 0, {1, 0});
    set_row(of("y"), 0, {three(of("y")), 0});
  });
}

TEST(SoftmaxEdges, ARowWithNanOrInfinityOrNothingElseThanMinusInfinityIsNan) {
  for (const float bad : {kNan, kInfinity, -kInfinity})
    on_every_device(
        in_every_type("softmax.forward rows=2 cols=300"),
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 300; ++c)
            if (bad == -kInfinity || c == 7) reference::write(of("x"), 1, c, bad);
        },
        [&](const Operand& of) {
          for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_canonical_nan(of("y"), 1, c));
          EXPECT_TRUE(std::isfinite(value_at(of("y"), 0, 7)));
        });
}
TEST(SoftmaxEdges, MinusInfinityBesideNumbersGivesZero) {
  on_every_device(
      in_every_type("softmax.forward rows=1 cols=3"),
      [](const Operand& of) { set_row(of("x"), 0, {1, -kInfinity, 2}); },
      [](const Operand& of) {
        EXPECT_TRUE(is_plus_zero(value_at(of("y"), 0, 1)));
        EXPECT_GT(value_at(of("y"), 0, 0), 0);
      });
}
// e^-17.33 is just below 2^-25, half the smallest f16, and e^-17.32 just above it.
TEST(SoftmaxEdges, HalfTheSmallestSubnormalIsZero) {
  on_every_device(
      "softmax.forward rows=2 cols=2 type=f16",
      [](const Operand& of) {
        set_row(of("x"), 0, {0, -17.34375f});
        set_row(of("x"), 1, {0, -17.3125f});
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_plus_zero(value_at(of("y"), 0, 1)));
        EXPECT_EQ(value_at(of("y"), 1, 1), 0x1p-24f);
      });
  on_every_device(
      "softmax.forward rows=1 cols=2 type=bf16,f32", [](const Operand& of) { set_row(of("x"), 0, {0, -104.5f}); },
      [](const Operand& of) { EXPECT_TRUE(is_plus_zero(value_at(of("y"), 0, 1))); });
}
TEST(SoftmaxEdges, OutputsSumToOneOnlyUpToTheirRoundings) {
  on_every_device(
      in_every_type("softmax.forward rows=1 cols=3"), [](const Operand& of) { set_row(of("x"), 0, {0, 0, 0}); },
      [](const Operand& of) {
        const float each = value_at(of("y"), 0, 0);
        if (of("y").type != Type::f32) {
          EXPECT_NE(each + each + each, 1.0f);
        }
        EXPECT_NEAR(each + each + each, 1.0f, 0x1p-7f);
      });
}
TEST(SoftmaxEdges, TheBackwardTakesYAsGiven) {
  on_every_device(
      in_every_type("softmax.backward rows=1 cols=2"),
      [](const Operand& of) {
        set_row(of("y"), 0, {2, -3});  // no softmax
        set_row(of("dy"), 0, {1, 1});
      },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("dx"), 0, 0), 4);  // 2 * (1 - (2 - 3))
        EXPECT_EQ(value_at(of("dx"), 0, 1), -6);
      });
}

}  // namespace
}  // namespace tokitai

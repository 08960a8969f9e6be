// What rmsnorm's contracts say of their edges, on every device of the host.
#include <cmath>

#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(RmsnormEdges, ANanMakesItsRowNan) {
  for (const char* operand : {"x", "residual"})
    on_every_device(
        "rmsnorm.forward rows=2 cols=300 master=yes single=no,yes type=f16,bf16,f32",
        [&](const Operand& of) { reference::write(of(operand), 1, 7, kNan); },
        [](const Operand& of) {
          for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_canonical_nan(of("y"), 1, c));
          EXPECT_TRUE(is_canonical_nan(of("rstd"), 1));
          EXPECT_TRUE(is_canonical_nan(of("sum"), 1, 7));
          EXPECT_TRUE(std::isfinite(value_at(of("sum"), 1, 8)));
          EXPECT_TRUE(std::isfinite(value_at(of("y"), 0, 7)));
        });
}
TEST(RmsnormEdges, AnInfiniteSumHasNoReciprocal) {
  on_every_device(
      "rmsnorm.forward rows=2 cols=3 type=f32",
      [](const Operand& of) {
        set_row(of("x"), 0, {1, -kInfinity, 2});
        set_row(of("x"), 1, {1, 1e30f, -1e30f});  // whose squares overflow
        set_all(of("gamma"), 2);
      },
      [](const Operand& of) {
        for (const std::int64_t r : {0, 1}) {
          EXPECT_TRUE(is_plus_zero(value_at(of("rstd"), r)));
          EXPECT_TRUE(is_plus_zero(value_at(of("y"), r, 0)));
        }
        EXPECT_TRUE(is_canonical_nan(of("y"), 0, 1));
      });
}
TEST(RmsnormEdges, ZerosAreDividedByZeroWithoutEps) {
  on_every_device(
      "rmsnorm.forward rows=1 cols=3 eps=0 type=f16,bf16,f32", [](const Operand& of) { set_all(of("x"), 0); },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("rstd"), 0), kInfinity);
        for (std::int64_t c = 0; c < 3; ++c) EXPECT_TRUE(is_canonical_nan(of("y"), 0, c));
      });
}
// +0 + -0 is +0: an operand of zeros changes the sign of a zero, an absent one does not.
TEST(RmsnormEdges, WhatIsLeftOutIsNotZero) {
  const auto negative = [](float v) { return v == 0 && std::signbit(v); };
  for (const bool given : {false, true}) {
    on_every_device(
        std::string("rmsnorm.forward rows=1 cols=3 type=f16,bf16,f32 master=") + (given ? "yes" : "no"),
        [&](const Operand& of) {
          set_row(of("x"), 0, {-0.0f, 1, 2});
          set_all(of("gamma"), 1);
          if (given) set_all(of("residual"), 0);
        },
        [&](const Operand& of) { EXPECT_EQ(negative(value_at(of("y"), 0, 0)), !given); });
    on_every_device(
        std::string("rmsnorm.backward rows=1 cols=3 type=f16,bf16,f32 master=") + (given ? "yes" : "no"),
        [&](const Operand& of) {
          set_all(of("dy"), -0.0f);
          set_all(of("x"), 1);
          set_all(of("gamma"), 1);
          set_all(of("rstd"), 1);
          if (given) set_all(of("dsum"), 0);
        },
        [&](const Operand& of) { EXPECT_EQ(negative(value_at(of("dx"), 0, 0)), !given); });
  }
}
// 1 + 2^-12 lies between two f16: what is normalised is what the sum holds.
TEST(RmsnormEdges, WhatIsNormalisedIsTheSumAsItIsStored) {
  for (const bool single : {false, true})
    on_every_device(
        std::string("rmsnorm.forward rows=1 cols=1 eps=0 type=f16 master=yes single=") + (single ? "residual" : "no"),
        [](const Operand& of) {
          set_all(of("x"), 1);
          set_all(of("residual"), 0x1p-12f);
          set_all(of("gamma"), 1);
        },
        [&](const Operand& of) {
          EXPECT_EQ(value_at(of("sum"), 0, 0), single ? 1 + 0x1p-12f : 1.0f);
          EXPECT_EQ(value_at(of("rstd"), 0) == 1.0f, !single);
        });
}
TEST(RmsnormEdges, SubnormalsAreKept) {
  const auto small = [](const View& view) { return view.type == Type::f16 ? 0x1p-23f : 0x1p-132f; };
  on_every_device(
      "rmsnorm.forward rows=1 cols=2 eps=1 type=f16,bf16,f32 master=yes",
      [&](const Operand& of) {
        set_all(of("x"), small(of("x")));
        set_all(of("residual"), small(of("x")));
        set_all(of("gamma"), 1);
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_subnormal(value_at(of("sum"), 0, 1), of("sum").type));
        EXPECT_TRUE(is_subnormal(value_at(of("y"), 0, 1), of("y").type));
      });
  on_every_device(
      "rmsnorm.backward rows=1 cols=2 type=f16,bf16,f32",
      [&](const Operand& of) {
        set_all(of("dy"), small(of("dy")));
        for (const char* one : {"gamma", "rstd"}) set_all(of(one), 1);
        set_all(of("x"), 0);
      },
      [](const Operand& of) { EXPECT_TRUE(is_subnormal(value_at(of("dx"), 0, 1), of("dx").type)); });
}
TEST(RmsnormEdges, TheBackwardTakesRstdAsGiven) {
  on_every_device(
      "rmsnorm.backward rows=1 cols=2 type=f16,bf16,f32", [](const Operand& of) { set_all(of("rstd"), 0); },
      [](const Operand& of) { EXPECT_EQ(value_at(of("dx"), 0, 0), 0); });
}

}  // namespace
}  // namespace tokitai

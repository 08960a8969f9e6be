// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"
#include "tokitai/skeleton.h"

namespace tokitai {
namespace {

TEST(SkeletonEdges, ComputesItsFormula) {
  const float x[2][2] = {{3, 4}, {0, 0}};
  float y[2][2] = {}, rstd[2] = {};
  Device device = open("cpu").value();
  const SkeletonForward arguments{
      .x = matrix(&x[0][0], 2, 2), .eps = 0.25f, .y = matrix(&y[0][0], 2, 2), .rstd = vector(rstd, 2)};
  const Status status = skeleton_forward(device, arguments);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(rstd[0], 1.0f / std::sqrt(12.75f));
  EXPECT_EQ(rstd[1], 2.0f);
  EXPECT_EQ(y[0][0], 3 * rstd[0]);
  EXPECT_EQ(y[0][1], 4 * rstd[0]);
  EXPECT_EQ(y[1][1], 0.0f);
}

TEST(SkeletonEdges, SpreadsANanOverItsRow) {
  on_every_device(
      "skeleton.forward rows=2 cols=300 type=f16,bf16,f32",
      [](const Operand& of) { reference::write(of("x"), 1, 7, kNan); },
      [](const Operand& of) {
        for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_canonical_nan(of("y"), 1, c));
        EXPECT_TRUE(is_canonical_nan(of("rstd"), 1));
        EXPECT_FALSE(is_nan(value_at(of("y"), 0, 7)));
      });
}

TEST(SkeletonEdges, HasNoReciprocalOfAnInfiniteSum) {
  on_every_device(
      "skeleton.forward rows=2 cols=3 type=f32",
      [](const Operand& of) {
        set_row(of("x"), 0, {1, -kInfinity, 2});
        set_row(of("x"), 1, {1, 1e30f, -1e30f});  // whose squares overflow
      },
      [](const Operand& of) {
        for (const std::int64_t r : {0, 1}) {
          EXPECT_TRUE(is_plus_zero(value_at(of("rstd"), r)));
          EXPECT_TRUE(is_plus_zero(value_at(of("y"), r, 0)));
        }
        EXPECT_TRUE(is_canonical_nan(of("y"), 0, 1));
      });
}

TEST(SkeletonEdges, DividesZerosByZeroWithoutEps) {
  on_every_device(
      "skeleton.forward rows=1 cols=3 eps=0 type=f16,bf16,f32", [](const Operand& of) { set_all(of("x"), 0); },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("rstd"), 0), kInfinity);
        for (std::int64_t c = 0; c < 3; ++c) EXPECT_TRUE(is_canonical_nan(of("y"), 0, c));
      });
}

TEST(SkeletonEdges, KeepsSubnormals) {
  on_every_device(
      "skeleton.forward rows=1 cols=2 eps=1 type=f16,bf16,f32",
      [](const Operand& of) { set_all(of("x"), of("x").type == Type::f16 ? 0x1p-23f : 0x1p-132f); },
      [](const Operand& of) { EXPECT_TRUE(is_subnormal(value_at(of("y"), 0, 1), of("y").type)); });
}

TEST(SkeletonEdges, RefusesAnEpsBelowZeroAndWritesNothing) {
  const float x[2] = {3, 4};
  float y[2] = {7, 7}, rstd[1] = {7};
  Device device = open("cpu").value();
  const Status status =
      skeleton_forward(device, {.x = matrix(x, 1, 2), .eps = -1.0f, .y = matrix(y, 1, 2), .rstd = vector(rstd, 1)});
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("eps"), std::string::npos) << status.message();
  EXPECT_EQ(y[0], 7.0f);
  EXPECT_EQ(rstd[0], 7.0f);
}

}  // namespace
}  // namespace tokitai

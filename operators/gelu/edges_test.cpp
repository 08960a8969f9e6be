// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"
#include "tokitai/gelu.h"

namespace tokitai {
namespace {

TEST(GeluEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("gelu.forward rows=9 cols=100");
  expect_canonical_nans("gelu.forward rows=9 cols=100 tanh=1");
  expect_canonical_nans("gelu.backward rows=9 cols=100");
  expect_canonical_nans("gelu.backward rows=9 cols=100 tanh=1");
}
TEST(GeluEdges, SubnormalsAreKept) {
  for (const char* line : {"gelu.forward rows=1 cols=2", "gelu.forward rows=1 cols=2 tanh=1"})
    expect_subnormal(line, "y", [](const Operand& of) { set_row(of("x"), 0, {6 * smallest(of("x").type), 0}); });
  for (const char* line : {"gelu.backward rows=1 cols=2", "gelu.backward rows=1 cols=2 tanh=1"})
    expect_subnormal(line, "dx", [](const Operand& of) {
      set_row(of("dy"), 0, {6 * smallest(of("dy").type), 0});
      set_row(of("x"), 0, {0, 0});
    });
}
TEST(GeluEdges, Infinities) {
  on_every_device(
      in_every_type("gelu.forward rows=1 cols=3 tanh=0,1"),
      [](const Operand& of) { set_row(of("x"), 0, {-kInfinity, kInfinity, -100}); },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("y"), 0, 0));
        EXPECT_EQ(value_at(of("y"), 0, 1), kInfinity);
        EXPECT_EQ(value_at(of("y"), 0, 2), 0);
      });
}
TEST(GeluEdges, NanAndInfinitySpreadAsTheFormulaSays) {
  on_every_device(
      in_every_type("gelu.backward rows=1 cols=4 tanh=0,1"),
      [](const Operand& of) {
        set_row(of("dy"), 0, {kNan, kInfinity, 1, 3});
        set_row(of("x"), 0, {1, 1, kNan, 40});
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("dx"), 0, 0));
        EXPECT_EQ(value_at(of("dx"), 0, 1), kInfinity);
        EXPECT_TRUE(is_canonical_nan(of("dx"), 0, 2));
        EXPECT_EQ(value_at(of("dx"), 0, 3), 3);
      });
}
// 1 + t is what is left of two numbers that nearly cancel.
TEST(GeluEdges, FarBelowZeroTheRelativeErrorIsLarge) {
  on_every_device(
      "gelu.forward rows=1 cols=1 type=f32", [](const Operand& of) { set_all(of("x"), -5.25f); },
      [](const Operand& of) {
        const double exact = -5.25 / 2 * std::erfc(5.25 / std::sqrt(2.0));
        EXPECT_GT(std::fabs(value_at(of("y"), 0, 0) / exact - 1), 0.01);
      });
}
TEST(GeluEdges, ComputesItsFormula) {
  const float x[3] = {-1, 0.5f, 2}, dy[3] = {1, 1, 1};
  float y[3], dx[3];
  Device device = open("cpu").value();
  for (const bool tanh : {false, true}) {
    ASSERT_TRUE(gelu_forward(device, {.x = matrix(x, 1, 3), .tanh = tanh, .y = matrix(y, 1, 3)}).ok());
    ASSERT_TRUE(
        gelu_backward(device, {.dy = matrix(dy, 1, 3), .x = matrix(x, 1, 3), .tanh = tanh, .dx = matrix(dx, 1, 3)})
            .ok());
    for (int i = 0; i < 3; ++i) {
      const double v = x[i], root = std::sqrt(2 / M_PI), cubic = root * (v + 0.044715 * v * v * v);
      const double t = tanh ? std::tanh(cubic) : std::erf(v / std::sqrt(2.0));
      const double inner = tanh ? (1 - t * t) * root * (1 + 3 * 0.044715 * v * v) : root * std::exp(-v * v / 2);
      EXPECT_NEAR(y[i], v / 2 * (1 + t), 1e-6);
      EXPECT_NEAR(dx[i], 0.5 * (1 + t) + v / 2 * inner, 1e-6);
    }
  }
}

}  // namespace
}  // namespace tokitai

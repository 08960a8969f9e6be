// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"
#include "tokitai/swiglu.h"

namespace tokitai {
namespace {

TEST(SwigluEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("swiglu.forward rows=9 cols=100");
  expect_canonical_nans("swiglu.backward rows=9 cols=100");
}
TEST(SwigluEdges, SubnormalsAreKept) {
  expect_subnormal("swiglu.forward rows=1 cols=2", "h", [](const Operand& of) {
    set_row(of("gate"), 0, {32, 0});
    set_row(of("up"), 0, {smallest(of("up").type), 0});
  });
  expect_subnormal("swiglu.backward rows=1 cols=2", "dgate", [](const Operand& of) {
    set_row(of("dh"), 0, {three(of("dh")), 0});
    set_row(of("gate"), 0, {0, 0});
    set_row(of("up"), 0, {1, 0});
  });
}
TEST(SwigluEdges, InfiniteGates) {
  on_every_device(
      in_every_type("swiglu.forward rows=1 cols=4"),
      [](const Operand& of) {
        set_row(of("gate"), 0, {-kInfinity, kInfinity, kInfinity, -200});
        set_row(of("up"), 0, {1, 2, 0, -1});
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("h"), 0, 0));
        EXPECT_EQ(value_at(of("h"), 0, 1), kInfinity);
        EXPECT_TRUE(is_canonical_nan(of("h"), 0, 2));
        EXPECT_TRUE(is_plus_zero(value_at(of("h"), 0, 3)));  // -0 times -1
      });
}
TEST(SwigluEdges, NanAndInfinitySpreadAsTheFormulaSays) {
  on_every_device(
      in_every_type("swiglu.backward rows=1 cols=4"),
      [](const Operand& of) {
        set_row(of("dh"), 0, {kNan, kInfinity, 1, 1});
        set_row(of("gate"), 0, {1, 1, -kInfinity, 2});
        set_row(of("up"), 0, {1, -1, 1, kInfinity});
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("dgate"), 0, 0) && is_canonical_nan(of("dup"), 0, 0));
        EXPECT_EQ(value_at(of("dgate"), 0, 1), -kInfinity);
        EXPECT_EQ(value_at(of("dup"), 0, 1), kInfinity);
        EXPECT_TRUE(is_canonical_nan(of("dgate"), 0, 2) && is_canonical_nan(of("dup"), 0, 2));
        EXPECT_EQ(value_at(of("dgate"), 0, 3), kInfinity);
        EXPECT_FALSE(is_nan(value_at(of("dup"), 0, 3)));
      });
}
// Gate and up side by side in one tensor, gate first, and h over gate: what lies beside them stays as it is.
TEST(SwigluEdges, GateAndUpSideBySide) {
  for (Device& device : host_devices()) {
    std::vector<float> both(3 * 20), apart(3 * 10), h(3 * 10);
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = 0.25f * static_cast<float>(i % 17) - 2;
    std::vector<float> gate(30), up(30);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 10; ++c) gate[r * 10 + c] = both[r * 20 + c], up[r * 10 + c] = both[r * 20 + 10 + c];
    ASSERT_TRUE(swiglu_forward(device, {.gate = matrix(gate.data(), 3, 10),
                                        .up = matrix(up.data(), 3, 10),
                                        .h = matrix(apart.data(), 3, 10)})
                    .ok());
    const auto left = matrix(both.data(), 3, 10, 20), right = matrix(both.data() + 10, 3, 10, 20);
    ASSERT_TRUE(swiglu_forward(device, {.gate = left, .up = right, .h = left}).ok());
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 10; ++c) {
        EXPECT_EQ(bits(both[r * 20 + c]), bits(apart[r * 10 + c]));
        EXPECT_EQ(both[r * 20 + 10 + c], up[r * 10 + c]);
      }
  }
}
TEST(SwigluEdges, ComputesItsFormula) {
  const float gate[2] = {0, 2}, up[2] = {3, 5}, dh[2] = {1, 4};
  float h[2], dgate[2], dup[2];
  Device device = open("cpu").value();
  ASSERT_TRUE(swiglu_forward(device, {.gate = matrix(gate, 1, 2), .up = matrix(up, 1, 2), .h = matrix(h, 1, 2)}).ok());
  EXPECT_EQ(h[0], 0);
  const double s = 1 / (1 + std::exp(-2.0));
  EXPECT_NEAR(h[1], 2 * s * 5, 1e-5);
  ASSERT_TRUE(swiglu_backward(device, {.dh = matrix(dh, 1, 2),
                                       .gate = matrix(gate, 1, 2),
                                       .up = matrix(up, 1, 2),
                                       .dgate = matrix(dgate, 1, 2),
                                       .dup = matrix(dup, 1, 2)})
                  .ok());
  EXPECT_EQ(dgate[0], 1.5f);
  EXPECT_EQ(dup[0], 0);
  EXPECT_NEAR(dgate[1], 4 * 5 * s * (1 + 2 * (1 - s)), 1e-4);
  EXPECT_NEAR(dup[1], 4 * 2 * s, 1e-5);
}

}  // namespace
}  // namespace tokitai

// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include "operators/tests/edges.h"

namespace tokitai {
namespace {

constexpr char kPairs[] = " type=f16,bf16,f32 to=f16,bf16,f32";

// A NaN with a payload, as its type has it.
void put_nan(const View& view) {
  if (view.type == Type::f32)
    reference::at<std::uint32_t>(view, 0, 0) = 0xffc12345u;
  else
    reference::at<std::uint16_t>(view, 0, 0) = view.type == Type::f16 ? 0xfe01 : 0xffc1;
}
TEST(CastEdges, ANanBecomesTheCanonicalOneOrKeepsItsBits) {
  on_every_device(
      std::string("cast.forward rows=1 cols=37") + kPairs, [](const Operand& of) { put_nan(of("x")); },
      [](const Operand& of) {
        if (of("x").type != of("y").type) {
          EXPECT_TRUE(is_canonical_nan(of("y"), 0, 0));
        } else if (of("x").type == Type::f32) {
          EXPECT_EQ(reference::at<std::uint32_t>(of("y"), 0, 0), 0xffc12345u);
        } else {
          EXPECT_EQ(reference::at<std::uint16_t>(of("y"), 0, 0), reference::at<std::uint16_t>(of("x"), 0, 0));
        }
      });
}
TEST(CastEdges, EveryOutputIsTheNearestOrACopy) {
  on_every_device(
      std::string("cast.forward rows=3 cols=333 data=normal,huge,subnormal,special") + kPairs, [](const Operand&) {},
      [](const Operand& of) {
        for (std::int64_t r = 0; r < 3; ++r)
          for (std::int64_t c = 0; c < 333; ++c) {
            const float x = value_at(of("x"), r, c), y = value_at(of("y"), r, c);
            if (is_nan(x)) continue;
            const float wanted = of("y").type == Type::f16    ? widen_f16(narrow_f16(x))
                                 : of("y").type == Type::bf16 ? widen_bf16(narrow_bf16(x))
                                                              : x;
            ASSERT_EQ(bits(y), bits(wanted)) << x;
          }
      });
}
TEST(CastEdges, LargeNumbersInfinitiesAndSubnormals) {
  on_every_device(
      "cast.forward rows=1 cols=4 type=f32 to=f16,bf16",
      [](const Operand& of) { set_row(of("x"), 0, {0x1.fffffep127f, -kInfinity, three(of("y")), 70000}); },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("y"), 0, 0), kInfinity);
        EXPECT_EQ(value_at(of("y"), 0, 1), -kInfinity);
        EXPECT_TRUE(is_subnormal(value_at(of("y"), 0, 2), of("y").type));
        EXPECT_EQ(value_at(of("y"), 0, 3) == kInfinity, of("y").type == Type::f16);
      });
}
TEST(CastEdges, WhatTheTypeCannotHoldIsLost) {
  on_every_device(
      "cast.forward rows=1 cols=1 type=f32 to=f16,bf16", [](const Operand& of) { set_all(of("x"), 1.0001f); },
      [](const Operand& of) { EXPECT_EQ(value_at(of("y"), 0, 0), 1); });
}

}  // namespace
}  // namespace tokitai

// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(AddEdges, EveryNanThatIsStoredIsCanonical) { expect_canonical_nans("add.forward rows=9 cols=100"); }
TEST(AddEdges, SubnormalsAreKept) {
  expect_subnormal("add.forward rows=1 cols=2", "y", [](const Operand& of) {
    set_row(of("a"), 0, {three(of("a")), 0});
    set_row(of("b"), 0, {-smallest(of("b").type), 0});
  });
}
TEST(AddEdges, NanAndInfinitySpreadAsTheFormulaSays) {
  on_every_device(
      in_every_type("add.forward rows=1 cols=5"),
      [](const Operand& of) {
        set_row(of("a"), 0, {kNan, kInfinity, kInfinity, largest(of("a").type), -0.0f});
        set_row(of("b"), 0, {1, 1, -kInfinity, largest(of("b").type), -0.0f});
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("y"), 0, 0));
        EXPECT_EQ(value_at(of("y"), 0, 1), kInfinity);
        EXPECT_TRUE(is_canonical_nan(of("y"), 0, 2));
        EXPECT_EQ(value_at(of("y"), 0, 3), kInfinity);
        EXPECT_EQ(bits(value_at(of("y"), 0, 4)), 0x80000000u);
      });
}
TEST(AddEdges, ComputesItsFormula) {
  on_every_device(
      in_every_type("add.forward rows=1 cols=2"),
      [](const Operand& of) {
        set_row(of("a"), 0, {1.5f, 3});
        set_row(of("b"), 0, {2, -3});
      },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("y"), 0, 0), 3.5f);
        EXPECT_TRUE(is_plus_zero(value_at(of("y"), 0, 1)));
      });
}

}  // namespace
}  // namespace tokitai

// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(GemmEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("gemm.forward m=9 n=20 k=3");
  expect_canonical_nans("gemm.grad_a m=9 n=3 k=20");
  expect_canonical_nans("gemm.grad_b m=3 n=20 k=9");
}

TEST(GemmEdges, SubnormalsAreKept) {
  const auto product = [](const char* subnormal, const char* one) {
    return [=](const Operand& of) {
      set_all(of(subnormal), three(of(subnormal)));
      set_all(of(one), 1);
    };
  };
  expect_subnormal("gemm.forward m=1 n=1 k=1", "c", product("a", "b"));
  expect_subnormal("gemm.grad_a m=1 n=1 k=1", "da", product("dc", "b"));
  expect_subnormal("gemm.grad_b m=1 n=1 k=1", "db", product("dc", "a"));
}

TEST(GemmEdges, AChainBeyondTheRangeGivesInfinity) {
  const std::pair<const char*, std::array<const char*, 3>> all[] = {{"gemm.forward m=1 n=1 k=3", {"a", "b", "c"}},
                                                                    {"gemm.grad_a m=1 n=3 k=1", {"dc", "b", "da"}},
                                                                    {"gemm.grad_b m=3 n=1 k=1", {"a", "dc", "db"}}};
  for (const auto& [line, names] : all) {
    on_every_device(  // on the way: the last product would bring it back
        std::string(line) + " type=bf16,f32",
        [&](const Operand& of) {
          set_all(of(names[1]), 1);
          for (std::int64_t i = 0; i < 3; ++i)
            reference::write(of(names[0]), of(names[0]).rows() == 3 ? i : 0, of(names[0]).rows() == 3 ? 0 : i,
                             i == 2 ? -largest(of(names[0]).type) : largest(of(names[0]).type));
        },
        [&](const Operand& of) { EXPECT_EQ(value_at(of(names[2]), 0, 0), kInfinity); });
    on_every_device(  // at the end, where the chain itself is in range
        std::string(line) + " type=f16",
        [&](const Operand& of) { set_all(of(names[0]), 60000), set_all(of(names[1]), -2); },
        [&](const Operand& of) { EXPECT_EQ(value_at(of(names[2]), 0, 0), -kInfinity); });
  }
}
TEST(GemmEdges, AnInfiniteChainMeetsTheOtherInfinity) {
  on_every_device(
      "gemm.forward m=1 n=1 k=3 type=bf16,f32",
      [](const Operand& of) {
        set_all(of("b"), 1);
        set_row(of("a"), 0, {largest(of("a").type), largest(of("a").type), -kInfinity});
      },
      [](const Operand& of) { EXPECT_TRUE(is_canonical_nan(of("c"), 0)); });
}

}  // namespace
}  // namespace tokitai

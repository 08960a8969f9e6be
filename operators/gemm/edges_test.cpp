// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include "operators/tests/edges.h"
#include "tokitai/gemm.h"

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

TEST(GemmEdges, ABlockThatHoldsNoNumbersMakesItsOutputsNan) {
  for (const float bad : {kInfinity, from_bits(kCanonicalNan), 0x1p+64f})
    on_every_device(
        "gemm.forward m=2 n=2 k=257 type=bf16 arithmetic=block15",
        [&](const Operand& of) {
          set_all(of("a"), 1), set_all(of("b"), 0);
          reference::write(of("a"), 0, 200, bad);
        },
        [](const Operand& of) {
          EXPECT_TRUE(is_canonical_nan(of("c"), 0));
          EXPECT_EQ(value_at(of("c"), 1, 0), 0);
        });
}
TEST(GemmEdges, BlocksOfIntegersLoseWhatIsSmall) {
  const auto product = [](float large, float small, float expected) {
    on_every_device(
        "gemm.forward m=1 n=1 k=129 type=f32 arithmetic=block15",
        [&](const Operand& of) {
          set_all(of("a"), 0), set_all(of("b"), 0);
          reference::write(of("a"), 0, 0, large);
          reference::write(of("a"), 0, 1, small);
          reference::write(of("b"), 1, 0, 1);
        },
        [&](const Operand& of) { EXPECT_EQ(value_at(of("c"), 0, 0), expected) << large << " " << small; });
  };
  product(1, 0x1p-13f, 0x1p-13f);
  product(1, 0x1p-14f, 0);                     // half a unit, to even
  product(0x1.fffffep0f, 0x1.fffffep-15f, 0);  // 2^-15 of it
  product(0x1.ep0f, 0x1.cp-14f, 0x1p-13f);     // below 2^-14 of it, and more than half a unit
  product(0, 0x1p-76f, 0x1p-76f);
  product(0, 0x1p-77f, 0);
}
TEST(GemmEdges, AnOutlierHidesItsBlock) {
  on_every_device(  // the outlier meets a zero: the answer is 1, and in its block nothing is left of that
      "gemm.forward m=1 n=1 k=2 type=f32 arithmetic=block15",
      [](const Operand& of) {
        set_row(of("a"), 0, {0x1p20f, 1});
        reference::write(of("b"), 0, 0, 0), reference::write(of("b"), 1, 0, 1);
      },
      [](const Operand& of) { EXPECT_EQ(value_at(of("c"), 0, 0), 0); });
}
TEST(GemmEdges, SumsThatVanishAreCutAtAFixedPlace) {
  on_every_device(  // 256.5 and 255.5 times 2^-158, of which 256 and 255 are kept: less than the smallest number
      "gemm.forward m=1 n=1 k=2 type=bf16 single=yes arithmetic=hopper",
      [](const Operand& of) {
        set_row(of("a"), 0, {27 * 0x1p-80f, 7 * 0x1p-80f});
        reference::write(of("b"), 0, 0, 19 * 0x1p-79f), reference::write(of("b"), 1, 0, 73 * 0x1p-79f);
      },
      [](const Operand& of) { EXPECT_EQ(value_at(of("c"), 0, 0), 0); });
}
TEST(GemmEdges, AZeroBesideALargeFactorCutsNothing) {
  on_every_device(
      "gemm.forward m=1 n=1 k=2 type=f16 single=yes arithmetic=hopper",
      [](const Operand& of) {
        set_row(of("a"), 0, {0, 0x1.004p-14f});
        reference::write(of("b"), 0, 0, 0x1p15f), reference::write(of("b"), 1, 0, 0x1.004p-14f);
      },
      [](const Operand& of) { EXPECT_EQ(value_at(of("c"), 0, 0), 0x1.004p-14f * 0x1.004p-14f); });
}
TEST(GemmEdges, HopperTakesHalvesOnly) {
  const float a = 1, b = 1;
  float c = 5;
  for (Device& device : host_devices()) {
    const Status status = gemm_forward(
        device,
        {.a = matrix(&a, 1, 1), .b = matrix(&b, 1, 1), .c = matrix(&c, 1, 1), .arithmetic = GemmArithmetic::hopper});
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_NE(status.message().find("hopper takes f16 and bf16, not f32; chain and block15 take f32"),
              std::string::npos)
        << status.message();
    EXPECT_EQ(c, 5);
  }
}

}  // namespace
}  // namespace tokitai

// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <fmt/format.h>

#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(EmbeddingEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("embedding.backward queries=90 dim=20 vocab=9");
  expect_canonical_nans("embedding.backward queries=90 dim=20 vocab=9 single=yes accumulate=1");
}

void set_indices(const Operand& of, std::initializer_list<std::int64_t> values) {
  std::int64_t i = 0;
  for (const std::int64_t value : values) reference::at<std::int64_t>(of("index"), i++, 0) = value;
}
// dweight of one index that all of these were asked for, over a dweight that held `held`.
template <class Look>
void with_terms(std::string_view options, const std::vector<float>& terms, float held, const Look& look) {
  on_every_device(
      fmt::format("embedding.backward queries={} dim=1 vocab=1 index=i64 {}", terms.size(), options),
      [&](const Operand& of) {
        std::int64_t i = 0;
        for (const float term : terms) reference::write(of("dy"), i++, 0, term);
        for (std::int64_t q = 0; q < i; ++q) reference::at<std::int64_t>(of("index"), q, 0) = 0;
        set_all(of("dweight"), held);
      },
      [&](const Operand& of) { look(of("dweight")); });
}

// 32768 + 2^-24 is no binary32 number: without accumulate the exact sum is rounded, to 32768; with it that is added to
// -32768, and what correct rounding would have kept is gone.
TEST(EmbeddingEdges, AccumulateRoundsTheSumAndThenTheAddition) {
  with_terms("type=f16 single=yes accumulate=1", {32768, 0x1p-24f}, -32768,
             [](const View& dweight) { EXPECT_TRUE(is_plus_zero(value_at(dweight, 0))); });
  with_terms("type=f16 single=yes accumulate=0", {32768, 0x1p-24f, -32768}, -32768,
             [](const View& dweight) { EXPECT_EQ(value_at(dweight, 0), 0x1p-24f); });
  // The addition: a sum that is a binary32 number, and a dweight that is, too.
  with_terms("type=f16,bf16,f32 single=yes accumulate=1", {1}, 0x1p25f,
             [](const View& dweight) { EXPECT_EQ(value_at(dweight, 0), 0x1p25f); });
  // Nor is anything but the sum rounded before: 1 + 2^-23 keeps its last bit.
  with_terms("type=f16,bf16,f32 single=yes accumulate=1", {0x1p-10f, -0x1p-10f, 0x1p-23f}, 1,
             [](const View& dweight) { EXPECT_EQ(value_at(dweight, 0), 1 + 0x1p-23f); });
}

TEST(EmbeddingEdges, RowsNobodyAskedFor) {
  on_every_device(
      fmt::format("embedding.backward queries=2 dim=33 vocab=5 index=i64 single=no,yes padding_index=3{}", kTypes),
      [](const Operand& of) {
        set_indices(of, {3, 4});
        set_all(of("dweight"), kNan);
      },
      [](const Operand& of) {
        for (std::int64_t v = 0; v < 4; ++v)
          for (std::int64_t c = 0; c < 33; ++c) ASSERT_TRUE(is_plus_zero(value_at(of("dweight"), v, c)));
      });
  on_every_device(
      fmt::format("embedding.backward queries=2 dim=2 vocab=5 index=i64 single=yes accumulate=1{}", kTypes),
      [](const Operand& of) {
        set_indices(of, {4, 4});
        set_all(of("dweight"), -7);
        reference::at<float>(of("dweight"), 1, 1) = -0.0f;
        reference::at<float>(of("dweight"), 2, 0) = kNan;
      },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("dweight"), 0, 0), -7);
        EXPECT_TRUE(is_plus_zero(value_at(of("dweight"), 1, 1)));
        EXPECT_TRUE(is_canonical_nan(of("dweight"), 2, 0));
      });
}

TEST(EmbeddingEdges, AZeroSumIsPlusZero) {
  for (const std::vector<float>& terms : std::vector<std::vector<float>>{{-0.0f}, {-0.0f, -0.0f}, {1, -1}})
    with_terms("type=f16,bf16,f32 single=no,yes", terms, -7,
               [](const View& dweight) { EXPECT_TRUE(is_plus_zero(value_at(dweight, 0))); });
}

TEST(EmbeddingEdges, ANanOrBothInfinitiesMakeASumNan) {
  const std::vector<std::vector<float>> all = {{kNan}, {1, kNan, 2}, {kInfinity, 1, -kInfinity}};
  for (const std::vector<float>& terms : all)
    for (const char* accumulate : {"single=no,yes", "single=yes accumulate=1"})
      with_terms(fmt::format("type=f16,bf16,f32 {}", accumulate), terms, -7,
                 [](const View& dweight) { EXPECT_TRUE(is_canonical_nan(dweight, 0)); });
}

TEST(EmbeddingEdges, InfinitiesOfOneSignMakeASumThatInfinity) {
  for (const float sign : {1.0f, -1.0f}) {
    const auto expect_infinity = [&](const View& dweight) { EXPECT_EQ(value_at(dweight, 0), sign * kInfinity); };
    with_terms("type=f16,bf16,f32 single=no,yes", {1, sign * kInfinity, 2, sign * kInfinity}, -7, expect_infinity);
    // In f16 nothing overflows on the way; in the others finite terms do.
    with_terms("type=f16 single=no,yes", {-sign * 65504, -sign * 65504, sign * kInfinity}, -7, expect_infinity);
    with_terms("type=bf16,f32 single=no,yes", {-sign * 0x1.fep127f, -sign * 0x1.fep127f, sign * kInfinity}, -7,
               [](const View& dweight) { EXPECT_TRUE(is_canonical_nan(dweight, 0)); });
  }
}

TEST(EmbeddingEdges, AnF16SumBeyondItsRangeIsInfiniteInF16) {
  with_terms("type=f16 single=no,yes", {65504, 65504}, -7, [](const View& dweight) {
    EXPECT_EQ(value_at(dweight, 0), dweight.type == Type::f16 ? kInfinity : 131008.0f);
  });
  with_terms("type=f16", {65504, 65504, -65504}, -7,
             [](const View& dweight) { EXPECT_EQ(value_at(dweight, 0), 65504); });
}

// 2^25 + 1 - 2^25: exact in f16's units, gone in the chains of the others.
TEST(EmbeddingEdges, SumsOfBf16AndF32AreNotExact) {
  with_terms("type=bf16,f32", {0x1p25f, 1, -0x1p25f}, -7,
             [](const View& dweight) { EXPECT_EQ(value_at(dweight, 0), 0); });
}

// One chain over the places in ascending order, 32 at a time: 2^24 swallows each of 31 ones behind it, the second chain
// keeps its own.
TEST(EmbeddingEdges, SumsOfBf16AndF32FollowTheColumnRule) {
  on_every_device(
      "embedding.backward queries=64 dim=1 vocab=1 index=i64 type=bf16,f32 single=yes",
      [](const Operand& of) {
        set_all(of("dy"), 1);
        reference::write(of("dy"), 0, 0, 0x1p24f);
        for (std::int64_t i = 0; i < 64; ++i) reference::at<std::int64_t>(of("index"), i, 0) = 0;
      },
      [](const Operand& of) { EXPECT_EQ(value_at(of("dweight"), 0), 0x1p24f + 32); });
}

TEST(EmbeddingEdges, TheForwardCopiesEveryBit) {
  on_every_device(
      "embedding.forward queries=3 dim=67 vocab=2 index=i64 padding_index=9 type=f16",
      [](const Operand& of) {
        set_indices(of, {1, 9, 0});
        for (std::int64_t c = 0; c < 67; ++c) {
          reference::at<std::uint16_t>(of("weight"), 0, c) = static_cast<std::uint16_t>(0xfc00 + c);  // NaNs, -infinity
          reference::at<std::uint16_t>(of("weight"), 1, c) = static_cast<std::uint16_t>(0x8000 + c);  // -0, subnormals
        }
      },
      [](const Operand& of) {
        for (std::int64_t c = 0; c < 67; ++c) {
          ASSERT_EQ(reference::at<std::uint16_t>(of("y"), 0, c), 0x8000 + c);
          ASSERT_EQ(reference::at<std::uint16_t>(of("y"), 1, c), 0);
          ASSERT_EQ(reference::at<std::uint16_t>(of("y"), 2, c), 0xfc00 + c);
        }
      });
}

}  // namespace
}  // namespace tokitai

// What the family's contracts say of NaNs, infinities, subnormals, zeros and overflow, sentence by sentence, and what
// they say they do not claim, by an example of each. promises.txt says which test is for which sentence.
#include <cmath>

#include "operators/tests/edges.h"
#include "tokitai/cross_entropy.h"

namespace tokitai {
namespace {

TEST(CrossEntropyEdges, EveryNanThatIsStoredIsCanonical) {
  expect_canonical_nans("cross_entropy.forward_backward rows=9 cols=100 reduction=sum master=yes");
}

void set_label(const Operand& of, std::int64_t row, std::int64_t label) {
  reference::at<std::int64_t>(of("labels"), row, 0) = label;
}
TEST(CrossEntropyEdges, AnIgnoredRowIsZeroWhateverItsLogits) {
  for (const std::int64_t ignored : {std::int64_t{-100}, std::int64_t{2}, std::int64_t{1} << 40})
    on_every_device(
        in_every_type("cross_entropy.forward_backward rows=2 cols=5 index=i64 reduction=sum master=yes ignore_index=" +
                      std::to_string(ignored)),
        [&](const Operand& of) {
          set_label(of, 0, ignored);
          set_label(of, 1, 4);
          set_row(of("logits"), 0, {kNan, kInfinity, 0, 1, -kInfinity});
        },
        [&](const Operand& of) {
          EXPECT_TRUE(is_plus_zero(value_at(of("loss"), 0)));
          for (std::int64_t c = 0; c < 5; ++c) EXPECT_TRUE(is_plus_zero(value_at(of("grad"), 0, c)));
          EXPECT_EQ(reference::at<std::int64_t>(of("count"), 0, 0), 1);
          EXPECT_EQ(value_at(of("mean_loss"), 0), value_at(of("loss"), 1));
        });
}
TEST(CrossEntropyEdges, ANanOrInfinityAmongTheLogitsGivesNan) {
  for (const float bad : {kNan, kInfinity})
    on_every_device(
        in_every_type("cross_entropy.forward_backward rows=2 cols=300 label_smoothing=0,0.1"),
        [&](const Operand& of) {
          for (const std::int64_t r : {0, 1}) set_label(of, r, 3);
          reference::write(of("logits"), 1, 7, bad);
        },
        [&](const Operand& of) {
          EXPECT_TRUE(is_nan(value_at(of("loss"), 1)));
          for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_nan(value_at(of("grad"), 1, c)));
          EXPECT_TRUE(std::isfinite(value_at(of("loss"), 0)));
        });
}
TEST(CrossEntropyEdges, TheMeanOfNoRowsIsNan) {
  on_every_device(
      in_every_type("cross_entropy.forward_backward rows=2 cols=5 reduction=sum master=yes ignore_index=3"),
      [](const Operand& of) {
        for (const std::int64_t r : {0, 1}) set_label(of, r, 3);
      },
      [](const Operand& of) {
        EXPECT_TRUE(is_canonical_nan(of("mean_loss"), 0));
        EXPECT_EQ(reference::at<std::int64_t>(of("count"), 0, 0), 0);
      });
}
// One column, whose logit is 1: the z-loss alone has a gradient, 1, so that what is stored is 1/f32(count).
TEST(CrossEntropyEdges, TheCountIsRoundedToNearest) {
  constexpr std::int64_t kRows = (1 << 24) + 3;  // half way between two numbers of binary32
  std::vector<float> logits(kRows), loss(kRows);
  const std::vector<std::int32_t> labels(kRows, 0);
  for (const char* name : {"reference", "cpu"}) {
    logits.assign(kRows, 1.0f);
    Device device = open(name).value();
    const Status status = cross_entropy_forward_backward(device, {.logits = matrix(logits.data(), kRows, 1),
                                                                  .labels = vector(labels.data(), kRows),
                                                                  .z_loss = 0.5f,
                                                                  .reduction = Reduction::mean,
                                                                  .loss = vector(loss.data(), kRows),
                                                                  .grad = matrix(logits.data(), kRows, 1)});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(logits, std::vector<float>(kRows, 1.0f / 16777220.0f)) << name;
    EXPECT_NE(1.0f / 16777220.0f, 1.0f / 16777218.0f);  // where a count that is cut off would lie
  }
}
TEST(CrossEntropyEdges, TheMeanDependsOnTheBatch) {
  on_every_device(
      "cross_entropy.forward_backward rows=2 cols=5 reduction=sum master=yes type=f32",
      [](const Operand& of) { set_row(of("logits"), 1, {9, 0, 0, 0, 0}), set_label(of, 1, 1); },
      [](const Operand& of) { EXPECT_NE(value_at(of("mean_loss"), 0), value_at(of("loss"), 0)); });
}

}  // namespace
}  // namespace tokitai

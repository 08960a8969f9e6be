// Argument checks: every refusal names the operand, the value and the limit, and leaves every byte as it was.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "contract/contract.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

// Operands lie in slots of one arena, so that one comparison shows whether any byte of any of them changed.
class ArgumentCheck : public ::testing::Test {
 protected:
  static constexpr std::size_t kSlot = 4096;

  template <class T> T* at(std::size_t slot, std::size_t element = 0) {
    return reinterpret_cast<T*>(arena_ + slot * kSlot) + element;
  }
  // An address nobody may read: for sizes that no test can allocate.
  template <class T> T* nowhere(std::uintptr_t slot) { return reinterpret_cast<T*>((slot + 1) << 44); }

  template <class Arguments>
  void expect_refused(const Arguments& arguments, std::initializer_list<std::string_view> words) {
    expect_call_refused(bind(arguments), words);
  }
  void expect_call_refused(const Call& call, std::initializer_list<std::string_view> words) {
    std::memset(arena_, 0x5a, sizeof(arena_));
    for (Device* device : {&cpu_, &reference_}) {
      Call copy = call;
      const Status status = device->run(copy);
      EXPECT_EQ(status.code(), Code::invalid) << status.message();
      for (std::string_view word : words)
        EXPECT_NE(status.message().find(word), std::string::npos) << word << " | " << status.message();
      EXPECT_TRUE(call.contract == nullptr || status.message().starts_with(call.contract->name)) << status.message();
      for (std::byte b : arena_) ASSERT_EQ(b, std::byte{0x5a}) << "written in spite of: " << status.message();
    }
  }
  template <class Arguments> void expect_accepted(const Arguments& arguments) {
    for (Device* device : {&cpu_, &reference_}) {
      std::memset(arena_, 0, sizeof(arena_));
      Call call = bind(arguments);
      const Status status = device->run(call);
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }

  LayernormForward layernorm() {
    return {.x = matrix(at<f16>(0), 3, 5),
            .gamma = vector(at<f16>(1), 5),
            .beta = vector(at<f16>(2), 5),
            .y = matrix(at<f16>(3), 3, 5),
            .mean = vector(at<float>(4), 3),
            .rstd = vector(at<float>(5), 3)};
  }
  CrossEntropyForwardBackward cross_entropy() {
    return {.logits = matrix(at<f16>(0), 3, 5),
            .labels = vector(at<std::int32_t>(1), 3),
            .loss = vector(at<float>(2), 3),
            .grad = matrix(at<f16>(3), 3, 5)};
  }
  AdamwTensor tensor(std::size_t first_slot, std::int64_t n) {
    return {.theta = vector(at<f16>(first_slot), n),
            .m = vector(at<float>(first_slot + 1), n),
            .v = vector(at<float>(first_slot + 2), n),
            .grad = vector(at<f16>(first_slot + 3), n)};
  }

  Device cpu_ = open("cpu", {.threads = 2}).value();
  Device reference_ = open("reference").value();
  alignas(64) std::byte arena_[16 * kSlot];
};

TEST_F(ArgumentCheck, AcceptsWhatTheContractAllows) {
  expect_accepted(layernorm());
  expect_accepted(cross_entropy());
  const AdamwTensor one = tensor(0, 7);
  expect_accepted(AdamwStep{.tensors = {&one, 1}, .t = 1});
}

TEST_F(ArgumentCheck, RefusesAMissingOperand) {
  auto a = layernorm();
  a.gamma = {};
  expect_refused(a, {"gamma is missing"});
  auto b = layernorm();
  b.y = {};
  expect_refused(b, {"y is missing"});
}

TEST_F(ArgumentCheck, RefusesACallOfNoOperator) { expect_call_refused(Call{}, {"no operator"}); }

TEST_F(ArgumentCheck, RefusesANullPointer) {
  auto a = layernorm();
  a.x = matrix(static_cast<f16*>(nullptr), 3, 5);
  expect_refused(a, {"x has no memory", "null"});
}

TEST_F(ArgumentCheck, RefusesATypeTheOperandCannotHave) {
  auto a = layernorm();
  a.x = matrix(at<std::int32_t>(0), 3, 5);
  expect_refused(a, {"x has type i32", "f16, bf16 or f32"});
  a = layernorm();
  a.beta = vector(at<bf16>(2), 5);
  expect_refused(a, {"beta has type bf16", "must be f16, as x is"});
  a = layernorm();
  a.mean = vector(at<f16>(4), 3);
  expect_refused(a, {"mean has type f16", "must be f32"});
  auto c = cross_entropy();
  c.labels = vector(at<float>(1), 3);
  expect_refused(c, {"labels has type f32", "i32 or i64"});
  c = cross_entropy();
  c.count = vector(at<std::int32_t>(6), 1);
  expect_refused(c, {"count has type i32", "must be i64"});
  expect_refused(
      GemmForward{.a = matrix(at<f16>(0), 2, 3), .b = matrix(at<f16>(1), 3, 4), .c = matrix(at<bf16>(2), 2, 4)},
      {"c has type bf16", "f32 or f16"});
  expect_refused(EmbeddingBackward{.dy = matrix(at<f16>(0), 2, 3),
                                   .index = vector(at<std::int64_t>(1), 2),
                                   .accumulate = true,
                                   .dweight = matrix(at<f16>(2), 4, 3)},
                 {"dweight has type f16", "accumulate", "f32"});
}

TEST_F(ArgumentCheck, RefusesTheWrongNumberOfDimensions) {
  auto a = layernorm();
  a.x = vector(at<f16>(0), 15);
  expect_refused(a, {"x has 1 dimension", "must have 2"});
  a = layernorm();
  a.mean = matrix(at<float>(4), 3, 1);
  expect_refused(a, {"mean has 2 dimensions", "must have 1"});
  a = layernorm();
  a.x.rank = 3;
  expect_refused(a, {"x has 3 dimensions", "must have 2"});
}

TEST_F(ArgumentCheck, RefusesShapesThatDisagree) {
  auto a = layernorm();
  a.gamma = vector(at<f16>(1), 6);
  expect_refused(a, {"gamma has shape [6]", "cols is 5", "x [3, 5]"});
  a = layernorm();
  a.y = matrix(at<f16>(3), 4, 5);
  expect_refused(a, {"y has shape [4, 5]", "rows is 3", "x [3, 5]"});
  expect_refused(
      GemmForward{.a = matrix(at<f16>(0), 2, 3), .b = matrix(at<f16>(1), 4, 4), .c = matrix(at<f16>(2), 2, 4)},
      {"b has shape [4, 4]", "k is 3", "a [2, 3]"});
  auto c = cross_entropy();
  c.mean_loss = vector(at<float>(6), 2);
  expect_refused(c, {"mean_loss has shape [2]", "must be [1]"});
  Call call = bind(EmbeddingBackward{
      .dy = matrix(at<f16>(0), 2, 3), .index = vector(at<std::int64_t>(1), 2), .dweight = matrix(at<f16>(2), 4, 3)});
  call.options[static_cast<std::size_t>(call.contract->option_index("vocab"))] = option_integer(5);
  expect_call_refused(call, {"dweight has shape [4, 3]", "option vocab is 5"});
}

TEST_F(ArgumentCheck, RefusesAMeanLossBesideAGradientOfNobodySaidWhat) {
  auto c = cross_entropy();
  c.mean_loss = vector(at<float>(6), 1);
  expect_refused(c, {"mean_loss", "gradient of their sum", "reduction=mean", "reduction=sum"});
  for (const Reduction said : {Reduction::sum, Reduction::mean}) {
    c.reduction = said;
    expect_accepted(c);
  }
  c = cross_entropy();
  c.count = vector(at<std::int64_t>(6), 1);
  expect_accepted(c);
}

TEST_F(ArgumentCheck, RefusesAChoiceThatHasNoName) {
  for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{2}, std::numeric_limits<std::int64_t>::min()}) {
    auto c = cross_entropy();
    c.reduction = static_cast<Reduction>(value);
    expect_refused(c, {"reduction = " + std::to_string(value), "must be sum or mean"});
  }
}

TEST_F(ArgumentCheck, RefusesNegativeAndZeroSizes) {
  auto a = layernorm();
  a.x = matrix(at<f16>(0), -1, 5);
  expect_refused(a, {"x has shape [-1, 5]", "rows", "negative"});
  a.x = matrix(at<f16>(0), 0, 5);
  expect_refused(a, {"x is empty", "[0, 5]", "rows must be at least 1"});
  a.x = matrix(at<f16>(0), 3, 0);
  expect_refused(a, {"x is empty", "[3, 0]", "cols must be at least 1"});
  const AdamwTensor negative = tensor(0, -7);
  expect_refused(AdamwStep{.tensors = {&negative, 1}, .t = 1}, {"theta has shape [-7]", "negative"});
}

TEST_F(ArgumentCheck, RefusesARowStrideBelowTheColumns) {
  auto a = layernorm();
  a.y = matrix(at<f16>(3), 3, 5, 4);
  expect_refused(a, {"y has row stride 4", "at least its 5 columns"});
  a.y = matrix(at<f16>(3), 3, 5, -5);
  expect_refused(a, {"y has row stride -5", "at least its 5 columns"});
}

TEST_F(ArgumentCheck, RefusesSizesThatOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  auto a = layernorm();
  a.x = matrix(at<f16>(0), kHuge, 5);
  expect_refused(a, {"x has shape [9223372036854775807, 5]", "2^48 bytes"});
  a.x = matrix(at<f16>(0), std::int64_t{1} << 60, 5, 8);
  expect_refused(a, {"x has shape [1152921504606846976, 5]", "row stride 8", "2^48 bytes"});
  const AdamwTensor one = {.theta = vector(nowhere<f16>(0), std::int64_t{1} << 62), .m = {}, .v = {}, .grad = {}};
  expect_refused(AdamwStep{.tensors = {&one, 1}, .t = 1}, {"theta has shape [4611686018427387904]", "2^48 bytes"});
  a = layernorm();
  a.x = matrix(reinterpret_cast<f16*>(~std::uintptr_t{0xff}), 3, 100);
  expect_refused(a, {"x runs past the end of the address space"});
  // Each tensor fits, all together do not.
  std::vector<AdamwTensor> list(5);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t n = std::int64_t{1} << 44;
    list[i] = {vector(nowhere<f16>(i), n), vector(nowhere<float>(i), n), vector(nowhere<float>(i), n),
               vector(nowhere<const f16>(i), n)};
  }
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m[list index 1]", "2^48 bytes together"});
}

TEST_F(ArgumentCheck, RefusesMoreColumnsThanBinary32CountsExactly) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  const auto of = [&](std::int64_t cols) {
    return SoftmaxForward{.x = matrix(nowhere<const f16>(0), 1, cols), .y = matrix(nowhere<f16>(1), 1, cols)};
  };
  expect_refused(of(kMost + 1), {"x has shape [1, 16777217]", "cols must be at most 16777216"});
  Call call = bind(of(kMost));
  EXPECT_TRUE(check(call).ok());
}

TEST_F(ArgumentCheck, RefusesAMisalignedPointer) {
  auto a = layernorm();
  a.mean.data = at<char>(4, 2);
  expect_refused(a, {"mean", "not a multiple of its 4 bytes"});
  a = layernorm();
  a.x.data = at<char>(0, 1);
  expect_refused(a, {"x", "not a multiple of its 2 bytes"});
}

TEST_F(ArgumentCheck, RefusesOutputsThatOverlapAnything) {
  auto a = layernorm();
  a.y = matrix(at<f16>(0), 3, 5);
  expect_refused(a, {"y overlaps x", "separate memory"});
  a.y = matrix(at<f16>(0, 14), 3, 5);
  expect_refused(a, {"y overlaps x"});
  a.y = matrix(at<f16>(0, 15), 3, 5);
  expect_accepted(a);
  a = layernorm();
  a.rstd = vector(at<float>(4, 2), 3);
  expect_refused(a, {"rstd overlaps mean"});
  a = layernorm();
  a.mean = vector(at<float>(2, 2), 3);  // its first element lies over beta's last
  expect_refused(a, {"mean overlaps beta"});
}

TEST_F(ArgumentCheck, LetsGradLieOverLogitsExactly) {
  auto a = cross_entropy();
  a.grad = matrix(at<f16>(0), 3, 5);
  expect_accepted(a);
  a.grad = matrix(at<f16>(0, 1), 3, 5);
  expect_refused(a, {"grad overlaps logits without being the same view"});
  a.grad = matrix(at<f16>(0), 3, 5, 6);
  expect_refused(a, {"grad overlaps logits without being the same view"});
  a = cross_entropy();
  a.loss = vector(at<float>(3), 3);
  expect_refused(a, {"grad overlaps loss"});
}

TEST_F(ArgumentCheck, AcceptsColumnRangesOfOneBuffer) {
  auto a = layernorm();
  a.x = matrix(at<f16>(0), 3, 5, 10);
  a.y = matrix(at<f16>(0, 5), 3, 5, 10);
  expect_accepted(a);
  a.x = matrix(at<f16>(0, 5), 3, 5, 10);
  a.y = matrix(at<f16>(0), 3, 5, 10);
  expect_accepted(a);
  a.x = matrix(at<f16>(0), 3, 5, 10);
  a.y = matrix(at<f16>(0, 4), 3, 5, 10);
  expect_refused(a, {"y overlaps x"});
  a.y = matrix(at<f16>(0, 6), 3, 5, 10);  // its last column is x's first of the next row
  expect_refused(a, {"y overlaps x"});
  a.y = matrix(at<f16>(0, 5), 3, 5, 11);  // the ranges drift into each other
  expect_refused(a, {"y overlaps x"});
}

TEST_F(ArgumentCheck, RefusesOptionsOutOfRange) {
  auto a = layernorm();
  a.eps = -1e-5f;
  expect_refused(a, {"eps = -1e-05", "finite and >= 0"});
  a.eps = std::numeric_limits<float>::quiet_NaN();
  expect_refused(a, {"eps = nan", "finite and >= 0"});
  auto c = cross_entropy();
  c.label_smoothing = 1;
  expect_refused(c, {"label_smoothing = 1", "in [0, 1)"});
  c = cross_entropy();
  c.scale = std::numeric_limits<float>::infinity();
  expect_refused(c, {"scale = inf", "finite"});
  const AdamwTensor one = tensor(0, 7);
  expect_refused(AdamwStep{.tensors = {&one, 1}, .t = 0}, {"t = 0", ">= 1"});
  expect_refused(AdamwStep{.tensors = {&one, 1}, .beta1 = 1, .t = 1}, {"beta1 = 1", "in [0, 1)"});
  expect_refused(AdamwStep{.tensors = {&one, 1}, .lr = std::nanf(""), .t = 1}, {"lr = nan", "finite and >= 0"});
  Call call = bind(AdamwStep{.tensors = {&one, 1}, .t = 1});
  call.options[static_cast<std::size_t>(call.contract->option_index("t"))] = option_unset();
  expect_call_refused(call, {"t is missing", ">= 1"});
}

TEST_F(ArgumentCheck, RefusesAListWithNothingInIt) {
  expect_refused(AdamwStep{.tensors = {}, .t = 1}, {"list of tensors is empty"});
  const AdamwTensor empty[] = {tensor(0, 0), tensor(4, 0)};
  expect_refused(AdamwStep{.tensors = empty, .t = 1}, {"theta has no elements in any tensor"});
}

TEST_F(ArgumentCheck, AcceptsAnEmptyTensorInsideAList) {
  const AdamwTensor none = {.theta = vector<f16>(nullptr, 0),
                            .m = vector<float>(nullptr, 0),
                            .v = vector<float>(nullptr, 0),
                            .grad = vector<const f16>(nullptr, 0)};
  const AdamwTensor list[] = {tensor(0, 5), none, tensor(4, 3)};
  expect_accepted(AdamwStep{.tensors = list, .t = 1});
}

TEST_F(ArgumentCheck, NamesTheListIndexOfAMismatch) {
  AdamwTensor list[] = {tensor(0, 5), tensor(4, 3)};
  list[1].grad = vector(at<f16>(7), 4);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"grad[list index 1] has shape [4]", "n is 3", "theta [3]"});
  list[1] = tensor(4, 3);
  list[1].theta = vector(at<bf16>(4), 3);
  expect_refused(AdamwStep{.tensors = list, .t = 1},
                 {"theta[list index 1] has type bf16", "must be f16, as theta[list index 0] is"});
  list[1] = tensor(4, 3);
  list[1].v = {};
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"v[list index 1] is missing"});
}

// A forgotten step would be taken for the first.
template <class Arguments>
concept MayLeaveOutTheStep = requires(std::span<const AdamwTensor> list) { Arguments{.tensors = list}; };
template <class Arguments>
concept MayBeGivenAStep = requires(std::span<const AdamwTensor> list) { Arguments{.tensors = list, .t = 7}; };
static_assert(MayBeGivenAStep<AdamwStep> && !MayLeaveOutTheStep<AdamwStep>);

TEST_F(ArgumentCheck, TakesATensorOfAnyShapeIntoAList) {
  const auto matrices = [&](std::size_t slot, std::int64_t rows, std::int64_t cols) {
    return AdamwTensor{.theta = matrix(at<f16>(slot), rows, cols),
                       .m = matrix(at<float>(slot + 1), rows, cols),
                       .v = matrix(at<float>(slot + 2), rows, cols),
                       .grad = matrix(at<f16>(slot + 3), rows, cols)};
  };
  AdamwTensor list[] = {tensor(0, 5), matrices(4, 3, 4), matrices(8, 0, 7)};
  list[1].master = matrix(at<float>(12), 3, 4);
  expect_accepted(AdamwStep{.tensors = list, .t = 1});
  Call call = bind(AdamwStep{.tensors = list, .t = 1});
  ASSERT_TRUE(check(call).ok());
  for (const std::size_t operand : {0, 1, 2, 3, 4}) {  // what machines see
    EXPECT_EQ(call.list[1][operand].rank, 1);
    EXPECT_EQ(call.list[1][operand].shape[0], 12);
  }

  list[1].m = matrix(at<float>(5), 4, 3);
  expect_refused(AdamwStep{.tensors = list, .t = 1},
                 {"m[list index 1] has shape [4, 3]", "theta[list index 1] has shape [3, 4]", "one shape"});
  list[1].m = vector(at<float>(5), 12);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m[list index 1] has shape [12]", "one shape"});
  list[1].m = matrix(at<float>(5), 3, 5);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m[list index 1] has shape [3, 5]", "n is 12", "theta [3, 4]"});
  list[1].m = matrix(at<float>(5), 3, 4, 6);
  expect_refused(AdamwStep{.tensors = list, .t = 1},
                 {"m[list index 1] has row stride 6 and 4 columns", "without gaps"});
  list[1].m = matrix(at<float>(5), 3, 4, 2);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m[list index 1] has row stride 2", "4 columns"});
  list[1].m = matrix(at<float>(5), -3, -4);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m[list index 1] has shape [-3, -4]", "negative"});
  list[1].m = matrix(at<float>(5), std::int64_t{1} << 40, std::int64_t{1} << 40);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m[list index 1] has shape [1099511627776, ", "2^48 bytes"});
  list[1].m.rank = 5;
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m[list index 1] has 5 dimensions", "1 to 4"});
}

TEST_F(ArgumentCheck, RefusesOverlapAcrossAList) {
  AdamwTensor list[] = {tensor(0, 5), tensor(4, 3)};
  list[1].theta = vector(at<f16>(1, 8), 3);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"theta of tensor 1 overlaps m of tensor 0"});
  list[1] = tensor(4, 3);
  list[1].grad = vector(at<f16>(0, 4), 3);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"grad of tensor 1 overlaps theta of tensor 0"});
  list[1] = tensor(4, 3);
  list[1].m = vector(at<float>(6, 2), 3);
  expect_refused(AdamwStep{.tensors = list, .t = 1}, {"m of tensor 1 overlaps v of tensor 1"});
  list[1] = tensor(4, 3);
  list[1].grad = vector(at<f16>(3), 3);  // two tensors may read one gradient
  expect_accepted(AdamwStep{.tensors = list, .t = 1});
}

}  // namespace
}  // namespace tokitai

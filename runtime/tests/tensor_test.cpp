// Views over ranges, tensors on devices, conversions.
#include "tokitai/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "numerics/half.h"
#include "runtime/tests/devices.h"

namespace tokitai {
namespace {

template <class V> bool same(const V& a, const V& b) {
  return a.data == b.data && a.type == b.type && a.rank == b.rank && a.shape == b.shape && a.row_stride == b.row_stride;
}

TEST(Views, OverRangesAreThoseOverTheirPointers) {
  std::vector<float> v(6);
  const std::vector<float> c(6);
  float array[6] = {};
  EXPECT_TRUE(same(vector(v), vector(v.data(), 6)));
  EXPECT_TRUE(same(vector(c), vector(c.data(), 6)));
  EXPECT_TRUE(same(vector(array), vector(&array[0], 6)));
  EXPECT_TRUE(same(vector(std::span(v).subspan(2)), vector(v.data() + 2, 4)));
  EXPECT_TRUE(same(matrix(v, 2, 3), matrix(v.data(), 2, 3)));
  EXPECT_TRUE(same(matrix(std::span(c).first(4), 2, 2), matrix(c.data(), 2, 2)));
  static_assert(std::is_same_v<decltype(vector(v)), View> && std::is_same_v<decltype(vector(c)), ConstView>);
  static_assert(!LastingRange<std::vector<float>> && LastingRange<std::span<float>>);
}

TEST(Views, OverRangesOfAnotherSizeAreRefusedWithBothNumbers) {
  Device device = opened("cpu");
  std::vector<float> x(12, 1), y(12, 5);
  const auto told = [&](const SoftmaxForward& call) {
    const Status status = softmax_forward(device, call);
    EXPECT_EQ(status.code(), Code::invalid);
    return status.message();
  };
  EXPECT_EQ(told({.x = matrix(x, 3, 5), .y = matrix(y, 3, 4)}),
            "softmax.forward: x is to have shape [3, 5], but its range holds 12 elements");
  EXPECT_EQ(told({.x = matrix(x, 3, 4), .y = matrix(y, 2, 4)}),
            "softmax.forward: y is to have shape [2, 4], but its range holds 12 elements");
  const std::int64_t half = std::int64_t{1} << 32;  // half * half is 0 in 64 bits
  std::vector<float> none;
  EXPECT_NE(told({.x = matrix(none, half, half), .y = matrix(none, half, half)}).find("holds 0 elements"),
            std::string::npos);
  EXPECT_NE(told({.x = matrix(x, -3, -4), .y = matrix(y, 3, 4)}).find("[-3, -4]"), std::string::npos);
  EXPECT_EQ(y, std::vector<float>(12, 5));
}

TEST(Views, AreFlattenedWhereTheyHaveNoGaps) {
  std::vector<float> v(12);
  EXPECT_TRUE(same(flat(matrix(v, 3, 4)), vector(v)));
  EXPECT_TRUE(same(flat(vector(v)), vector(v)));
  EXPECT_TRUE(same(flat(matrix(v.data(), 1, 4, 9)), vector(v.data(), 4)));
  const View gaps = flat(matrix(v.data(), 3, 2, 4));
  EXPECT_EQ(gaps.elements(), 0);
  Device device = opened("cpu");
  std::vector<float> m(6), u(6), g(6);
  const AdamwTensor tensor{gaps, vector(m), vector(u), vector(g)};
  EXPECT_EQ(adamw_step(device, {.tensors = {&tensor, 1}, .t = 1}).message(),
            "adamw.step: theta is a matrix [3, 2] with row stride 4; it is no vector, its rows have gaps");
  const std::int64_t half = std::int64_t{1} << 32;
  EXPECT_EQ(flat(matrix(v.data(), half, half)).rank, kNoShape);
}

TEST(Views, OfNegativeOrEndlessShapesMakeNoVector) {
  Device device = opened("cpu");
  std::vector<float> v(6, 5), m(6), u(6), g(6);
  const auto told = [&](const View& theta) {
    EXPECT_EQ(theta.elements(), 0);
    const AdamwTensor tensor{theta, vector(m), vector(u), vector(g)};
    return adamw_step(device, {.tensors = {&tensor, 1}, .t = 1}).message();
  };
  for (const auto& [rows, cols] : {std::pair{-2, -3}, {-2, 3}, {2, -3}, {0, -3}})
    EXPECT_EQ(told(flat(matrix(v.data(), rows, cols))),
              fmt::format("adamw.step: theta has shape [{}, {}]; no dimension may be negative", rows, cols));
  const std::int64_t half = std::int64_t{1} << 32;
  EXPECT_EQ(told(flat(matrix(v.data(), half, half))),
            "adamw.step: theta has shape [4294967296, 4294967296] and row stride 4294967296: more than 2^48 bytes");
  EXPECT_EQ(v, std::vector<float>(6, 5));
}

// A step that is no number of steps: a flag or a letter in its place, or a number that would turn negative.
TEST(Views, AndStepsAreOfTypesThatHoldThem) {
  using Step = AdamwStepNumber;
  static_assert(std::is_convertible_v<int, Step> && std::is_convertible_v<std::int64_t, Step> &&
                std::is_convertible_v<std::uint32_t, Step> && std::is_convertible_v<std::int8_t, Step>);
  static_assert(!std::is_constructible_v<Step, bool> && !std::is_constructible_v<Step, char> &&
                !std::is_constructible_v<Step, wchar_t> && !std::is_constructible_v<Step, char8_t> &&
                !std::is_constructible_v<Step, char16_t> && !std::is_constructible_v<Step, char32_t>);
  static_assert(!std::is_constructible_v<Step, std::uint64_t> && !std::is_constructible_v<Step, float>);
  EXPECT_EQ(Step(std::uint32_t{0xffffffff}), 0xffffffff);
}

class Tensors : public EveryDevice {};
INSTANTIATE_TEST_SUITE_P(Runtime, Tensors, ::testing::ValuesIn(kDevices), device_name);

TEST_P(Tensors, GiveBackWhatTheyWereGivenAndOutliveTheirDevice) {
  auto tensor = opened(name()).tensor<f16>(3, 5).value();
  const std::vector<f16> given = to_f16(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  ASSERT_TRUE(tensor.upload(given).ok());
  EXPECT_EQ(to_f32(tensor.download().value())[14], 14);
  EXPECT_EQ(tensor.upload(std::span(given).first(14)).message(),
            "14 elements for a tensor of shape [3, 5]; it takes 15");
  std::vector<f16> room(16);
  EXPECT_EQ(tensor.download(room).message(), "room for 16 elements of a tensor of shape [3, 5]; it has 15");
  EXPECT_TRUE(same(tensor.flat(), vector(static_cast<f16*>(tensor.view().data), 15)));
}

// A tensor of one type is none of another, though each is a tensor of some type.
TEST(Tensor, IsOfTheTypeThatItWasMadeOf) {
  static_assert(std::is_move_constructible_v<Tensor<float>> && std::is_move_assignable_v<Tensor<float>>);
  static_assert(!std::is_constructible_v<Tensor<f16>, Tensor<float>> &&
                !std::is_constructible_v<Tensor<f16>, AnyTensor>);
  static_assert(!std::is_assignable_v<Tensor<f16>&, Tensor<float>> && !std::is_assignable_v<Tensor<f16>&, AnyTensor>);
  Device device = opened("cpu");
  auto wide = device.tensor<float>(10).value();
  auto narrow = device.tensor<f16>(10).value();
  static_cast<AnyTensor&>(narrow) = std::move(wide);  // what no type can keep anybody from
  std::vector<f16> values(10);
  EXPECT_EQ(narrow.upload(values).message(), "elements of type f16 for a tensor of type f32");
  EXPECT_EQ(narrow.download(values).message(), "elements of type f16 for a tensor of type f32");
}

TEST_P(Tensors, AreOperands) {
  if (!calls()) GTEST_SKIP() << "no kernels";
  Device device = opened(name());
  Softmax softmax;
  auto x = device.tensor<float>(Softmax::kRows, Softmax::kCols).value();
  auto y = device.tensor<float>(Softmax::kRows, Softmax::kCols).value();
  ASSERT_TRUE(x.upload(softmax.x).ok());
  ASSERT_TRUE(softmax_forward(device, {.x = x, .y = y}).ok());
  Device reference = opened("reference");
  ASSERT_TRUE(softmax.run(reference).ok());
  EXPECT_EQ(y.download().value(), softmax.y);
}

TEST(Conversions, RoundOnceToNearestEvenAndBackKeepEveryValue) {
  for (std::uint32_t u = 0; u < 0x10000; ++u) {
    const auto half = static_cast<std::uint16_t>(u);
    const float wide = to_f32(f16{half}), brain = to_f32(bf16{half});
    ASSERT_EQ(to_f16(wide).bits, std::isnan(wide) ? kCanonicalNanF16 : half);
    ASSERT_EQ(to_bf16(brain).bits, std::isnan(brain) ? kCanonicalNanBf16 : half);
  }
  const std::vector<float> values = {1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 65520.0f, 0x1p-25f, -0.0f, std::nanf("")};
  const std::uint16_t halves[] = {0x3c00, 0x3c02, 0x7c00, 0x0000, 0x8000, 0x7e00};
  const std::vector<f16> narrow = to_f16(values);
  const std::vector<bf16> brain = to_bf16(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(narrow[i].bits, halves[i]);
    EXPECT_EQ(brain[i].bits, narrow_bf16(values[i]));
  }
  EXPECT_EQ(to_f32(narrow)[0], 1);
  EXPECT_EQ(to_f32(brain)[2], 65536);
  EXPECT_TRUE(to_f16(std::vector<float>()).empty());
}

}  // namespace
}  // namespace tokitai

// The a-priori error bounds of patterns/error_bound.h, held against the exact machine on data that is hard to add: a
// row sum through layernorm's mean, a column sum through its dbeta, and a chain of fma through a product.
#include "patterns/error_bound.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "evidence/ulp.h"
#include "machines/analysis/machine.h"
#include "testing/instance.h"
#include "tokitai/device.h"

namespace tokitai::evidence {
namespace {

using testing::Instance;

// Data on which roundings do not cancel each other: one sign and equal values, magnitudes that grow or fall, large
// values among small ones, and large ones that cancel.
constexpr const char* kHard[] = {"equal", "growing", "falling", "spikes", "cancelling"};
float hard(std::string_view kind, std::int64_t i) {
  const float odd = 1.0f + static_cast<float>(i * 2654435761 % 8388593) * 0x1p-23f;
  if (kind == "equal") return 0x1.555556p0f;
  if (kind == "growing") return odd * static_cast<float>(1 + i);
  if (kind == "falling") return odd / static_cast<float>(1 + i);
  if (kind == "spikes") return i % 97 == 0 ? odd * 0x1p20f : odd;
  return i % 2 == 0 ? odd * 0x1p12f : -odd * 0x1p12f;
}
void make_hard(const View& view, std::string_view kind) {
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t c = 0; c < view.cols(); ++c)
      static_cast<float*>(view.data)[r * view.row_stride + c] = hard(kind, r * 131 + c);
}

// The largest of error / bound over an output whose elements `bound` gives bounds of.
template <class F> double worst_ratio(const std::string& line, std::string_view kind, std::size_t output, F bound) {
  const testing::Problem problem = testing::parse_problems(line).value().at(0);
  Instance instance = Instance::make(problem).value();
  Call call = instance.call();
  make_hard(call.operand(0), kind);
  if (problem.contract->family() == "gemm") make_hard(call.operand(1), kind);
  EXPECT_TRUE(check(call).ok());
  const auto kernels = analysis::kernels(*problem.contract).value();
  const auto exact = analysis::run(kernels.exact, call);
  Device reference = open("reference").value();
  EXPECT_TRUE(reference.run(call).ok()) << line;
  const View& stored = call.operand(output);
  double worst = 0;
  for (std::int64_t r = 0; r < stored.rows(); ++r)
    for (std::int64_t c = 0; c < stored.cols(); ++c) {
      const auto& real = exact[0][output][static_cast<std::size_t>(r * stored.cols() + c)];
      EXPECT_TRUE(real.is_real()) << line;
      const double most = bound(call, r, c);
      const double error = distance(reference::read(stored, r, c), real, Type::f32).length;
      EXPECT_LE(error, most) << line << " " << kind << " [" << r << ", " << c << "]";
      if (most > 0) worst = std::max(worst, error / most);
    }
  return worst;
}
double at(const View& v, std::int64_t r, std::int64_t c) { return static_cast<double>(reference::read(v, r, c)); }
// Sums of magnitudes, above what adding them in double can lose.
constexpr double kUp = 1 + 0x1p-30;

TEST(ErrorBound, RowSum) {
  for (const std::int64_t cols : {1, 2, 3, 255, 256, 257, 2047, 2048, 2049, 20000})
    for (const char* kind : kHard)
      worst_ratio(fmt::format("layernorm.forward rows=3 cols={} type=f32", cols), kind, 4,
                  [&](const Call& call, std::int64_t r, std::int64_t) {
                    double all = 0;
                    for (std::int64_t c = 0; c < cols; ++c) all += std::fabs(at(call.operand(0), r, c));
                    const double mean = all * kUp / static_cast<double>(cols);
                    return relative_bound(row_sum_roundings(cols) + 1) * mean + kUnderflow;  // and the division
                  });
}
TEST(ErrorBound, ColumnSum) {
  for (const std::int64_t rows : {1, 2, 31, 32, 33, 1024, 1025, 3000})
    for (const char* kind : kHard)
      worst_ratio(fmt::format("layernorm.backward rows={} cols=5 type=f32", rows), kind, 7,
                  [&](const Call& call, std::int64_t c, std::int64_t) {
                    double all = 0;
                    for (std::int64_t r = 0; r < rows; ++r) all += std::fabs(at(call.operand(0), r, c));
                    return relative_bound(column_sum_roundings(rows)) * all * kUp;
                  });
}
double product_ratio(std::int64_t inner, const char* kind) {
  return worst_ratio(fmt::format("gemm.forward m=2 n=3 k={} type=f32", inner), kind, 2,
                     [&](const Call& call, std::int64_t i, std::int64_t j) {
                       double all = 0;
                       for (std::int64_t k = 0; k < inner; ++k)
                         all += std::fabs(at(call.operand(0), i, k) * at(call.operand(1), k, j));
                       return relative_bound(product_roundings(inner)) * all * kUp +
                              static_cast<double>(inner) * kUnderflow;
                     });
}
TEST(ErrorBound, Product) {
  for (const std::int64_t inner : {1, 2, 3, 100, 1000, 5000})
    for (const char* kind : kHard) product_ratio(inner, kind);
}
// A bound that left out all but one rounding in 16 would be seen: some data comes that near.
TEST(ErrorBound, HardDataComesNearTheBound) {
  double worst = 0;
  for (const char* kind : kHard) worst = std::max(worst, product_ratio(100, kind));
  EXPECT_GT(worst, 1.0 / 16);
}
TEST(ErrorBound, RoundingsAreCountedAsTheOrdersSay) {
  EXPECT_EQ(row_sum_roundings(1), 0);
  EXPECT_EQ(row_sum_roundings(2), 1);
  EXPECT_EQ(row_sum_roundings(256), 8);
  EXPECT_EQ(row_sum_roundings(257), 9);
  EXPECT_EQ(row_sum_roundings(2048), 15);
  EXPECT_EQ(row_sum_roundings(4096), 16);
  EXPECT_EQ(row_sum_roundings(16777216), 15 + 8191);
  EXPECT_EQ(column_sum_roundings(1), 0);
  EXPECT_EQ(column_sum_roundings(32), 31);
  EXPECT_EQ(column_sum_roundings(33), 32);
  EXPECT_EQ(column_sum_roundings(1024), 62);
  EXPECT_EQ(column_sum_roundings(1025), 63);
}

}  // namespace
}  // namespace tokitai::evidence

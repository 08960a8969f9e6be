// The a-priori error bounds of patterns/error_bound.h, held against the exact machine on data that is hard to add: a
// row sum through layernorm's mean, a column sum through its dbeta, and a chain of fma through a product.
#include "patterns/error_bound.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "machines/analysis/machine.h"
#include "machines/analysis/ulp.h"
#include "problems/instance.h"
#include "tokitai/gemm.h"

namespace tokitai::evidence {
namespace {

using problems::Instance;

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

// The largest of error / bound over an output whose elements `bound` gives bounds of, above 0 where there is one.
template <class Fill, class F>
double worst_ratio(const std::string& line, std::size_t output, const Fill& fill, const F& bound) {
  const problems::Problem problem = problems::parse_problems(line).value().at(0);
  Instance instance = Instance::make(problem).value();
  Call call = instance.call();
  fill(call);
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
      if (!(most > 0)) continue;
      const double error = distance(reference::read(stored, r, c), real, Type::f32).length;
      EXPECT_LE(error, most) << line << " [" << r << ", " << c << "]";
      worst = std::max(worst, error / most);
    }
  return worst;
}
double at(const View& v, std::int64_t r, std::int64_t c) { return static_cast<double>(reference::read(v, r, c)); }
// Sums of magnitudes, above what adding them in double can lose.
constexpr double kUp = 1 + 0x1p-30;

TEST(ErrorBound, RowSum) {
  for (const std::int64_t cols : {1, 2, 3, 255, 256, 257, 2047, 2048, 2049, 20000})
    for (const char* kind : kHard)
      worst_ratio(
          fmt::format("layernorm.forward rows=3 cols={} type=f32", cols), 4,
          [&](const Call& call) { make_hard(call.operand(0), kind); },
          [&](const Call& call, std::int64_t r, std::int64_t) {
            double all = 0;
            for (std::int64_t c = 0; c < cols; ++c) all += std::fabs(at(call.operand(0), r, c));
            const double mean = all * kUp / static_cast<double>(cols);
            return relative_bound(row_sum_roundings(cols) + 1) * mean + kUnderflow;  // and the division
          });
}
// softmax.backward's dx is minus the sum of dy*y where dy is 0 and y is 1.
double fused_row_ratio(std::int64_t cols, const char* kind) {
  return worst_ratio(
      fmt::format("softmax.backward rows=3 cols={} type=f32", cols), 2,
      [&](const Call& call) {
        for (const int operand : {0, 1}) make_hard(call.operand(operand), kind);
        for (std::int64_t r = 0; r < 3; ++r) {
          reference::write(call.operand(0), r, cols - 1, 0);
          reference::write(call.operand(1), r, cols - 1, 1);
        }
      },
      [&](const Call& call, std::int64_t r, std::int64_t c) {
        double all = 0;
        for (std::int64_t k = 0; k < cols; ++k) all += std::fabs(at(call.operand(0), r, k) * at(call.operand(1), r, k));
        return c == cols - 1 ? fused_sum_bound(row_sum_roundings(cols), cols, all * kUp) : 0;
      });
}
TEST(ErrorBound, FusedRowSum) {
  for (const std::int64_t cols : {2, 3, 255, 256, 257, 2049})
    for (const char* kind : kHard) fused_row_ratio(cols, kind);
}
TEST(ErrorBound, ColumnSum) {
  for (const std::int64_t rows : {1, 2, 31, 32, 33, 1024, 1025, 3000})
    for (const char* kind : kHard)
      worst_ratio(
          fmt::format("layernorm.backward rows={} cols=5 type=f32", rows), 7,
          [&](const Call& call) { make_hard(call.operand(0), kind); },
          [&](const Call& call, std::int64_t c, std::int64_t) {
            double all = 0;
            for (std::int64_t r = 0; r < rows; ++r) all += std::fabs(at(call.operand(0), r, c));
            return relative_bound(column_sum_roundings(rows)) * all * kUp;
          });
}
// With a mean of 0 and an rstd of 1, dgamma is the sum of dy*x.
double fused_column_ratio(std::int64_t rows, const char* kind) {
  return worst_ratio(
      fmt::format("layernorm.backward rows={} cols=5 type=f32", rows), 6,
      [&](const Call& call) {
        for (const int operand : {0, 1}) make_hard(call.operand(operand), kind);
        for (std::int64_t r = 0; r < rows; ++r) {
          reference::write(call.operand(3), r, 0, 0);
          reference::write(call.operand(4), r, 0, 1);
        }
      },
      [&](const Call& call, std::int64_t c, std::int64_t) {
        double all = 0;
        for (std::int64_t r = 0; r < rows; ++r) all += std::fabs(at(call.operand(0), r, c) * at(call.operand(1), r, c));
        return fused_sum_bound(column_sum_roundings(rows), rows, all * kUp);
      });
}
TEST(ErrorBound, FusedColumnSum) {
  for (const std::int64_t rows : {1, 2, 31, 32, 33, 1025})
    for (const char* kind : kHard) fused_column_ratio(rows, kind);
}
double product_ratio(std::int64_t inner, const char* kind) {
  return worst_ratio(
      fmt::format("gemm.forward m=2 n=3 k={} type=f32", inner), 2,
      [&](const Call& call) {
        for (const int operand : {0, 1}) make_hard(call.operand(operand), kind);
      },
      [&](const Call& call, std::int64_t i, std::int64_t j) {
        double all = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          all += std::fabs(at(call.operand(0), i, k) * at(call.operand(1), k, j));
        return product_bound(inner, all * kUp);
      });
}
TEST(ErrorBound, Product) {
  for (const std::int64_t inner : {1, 2, 3, 100, 1000, 5000})
    for (const char* kind : kHard) product_ratio(inner, kind);
}
// The other arithmetics, over types that hopper takes: the hard data as far as those hold it, subnormals and outliers.
float hard_half(std::string_view kind, Type type, std::int64_t i) {
  if (kind == "subnormal") return (type == Type::f16 ? 0x1p-24f : 0x1p-133f) * static_cast<float>(i % 61 - 30);
  if (kind == "outliers") return i % 41 == 0 ? 0x1.8p6f : 0x1p-7f * static_cast<float>(1 + i % 5);
  return reference::rounded(type, hard(kind, i) * 0x1p-14f);
}
template <class Bound> double arithmetic_ratio(std::string_view line, std::string_view kind, const Bound& bound) {
  return worst_ratio(
      std::string(line), 2,
      [&](const Call& call) {
        for (const int operand : {0, 1}) {
          const View& view = call.operand(operand);
          for (std::int64_t r = 0; r < view.rows(); ++r)
            for (std::int64_t c = 0; c < view.cols(); ++c)
              reference::write(view, r, c, hard_half(kind, view.type, r * 131 + c + operand));
        }
      },
      [&](const Call& call, std::int64_t i, std::int64_t j) {
        std::vector<double> a, b;
        for (std::int64_t k = 0; k < call.operand(0).cols(); ++k) {
          a.push_back(std::fabs(at(call.operand(0), i, k)));
          b.push_back(std::fabs(at(call.operand(1), k, j)));
        }
        return bound(a, b, call.operand(0).type);
      });
}
constexpr const char* kHardHalves[] = {"equal", "growing", "falling", "spikes", "cancelling", "subnormal", "outliers"};
double hopper_ratio(std::int64_t inner, const char* type, const char* kind) {
  return arithmetic_ratio(fmt::format("gemm.forward m=2 n=3 k={} type={} single=yes arithmetic=hopper", inner, type),
                          kind, [&](const auto& a, const auto& b, Type storage) {
                            const double smallest = storage == Type::f16 ? 0x1p-14 : 0x1p-126;
                            const auto counted = [&](double x) { return x == 0 ? 0 : std::max(x, smallest); };
                            double all = 0;
                            for (std::size_t k = 0; k < a.size(); ++k) all += counted(a[k]) * counted(b[k]);
                            return hopper_bound(inner, all * kUp);
                          });
}
double block15_ratio(std::int64_t inner, const char* type, const char* kind) {
  return arithmetic_ratio(fmt::format("gemm.forward m=2 n=3 k={} type={} single=yes arithmetic=block15", inner, type),
                          kind, [&](const auto& a, const auto& b, Type) {
                            double sizes = 0;
                            for (std::size_t k = 0; k < a.size(); k += 128) {
                              const std::size_t end = std::min(a.size(), k + 128);
                              double x = 0x1p-63, y = 0x1p-63;
                              for (std::size_t e = k; e < end; ++e) x = std::max(x, a[e]), y = std::max(y, b[e]);
                              sizes += static_cast<double>(end - k) * x * y;
                            }
                            return block15_bound(inner, sizes * kUp, 0);
                          });
}
TEST(ErrorBound, EveryArithmetic) {
  for (const std::int64_t inner : {1, 15, 16, 17, 127, 128, 129, 1000})
    for (const char* type : {"f16", "bf16"})
      for (const char* kind : kHardHalves) {
        hopper_ratio(inner, type, kind);
        block15_ratio(inner, type, kind);
      }
  for (const char* kind : kHardHalves) block15_ratio(300, "f32", kind);
}
// What a sum starts with counts among its magnitudes; a sum in the subnormals has the exponent of the smallest normal
// number, which cuts products that are far below.
TEST(ErrorBound, WhatASumStartsWithCounts) {
  const auto error = [](const char* how, float start, std::int64_t inner, float a, float b) {
    const std::string line =
        fmt::format("gemm.forward m=1 n=1 k={} type=bf16 single=yes master=c0 arithmetic={}", inner, how);
    const problems::Problem problem = problems::parse_problems(line).value().at(0);
    Instance instance = Instance::make(problem).value();
    Call call = instance.call();
    for (std::int64_t k = 0; k < inner; ++k) {
      reference::write(call.operand(0), 0, k, a);
      reference::write(call.operand(1), k, 0, b);
    }
    reference::write(call.operand(3), 0, 0, start);
    EXPECT_TRUE(check(call).ok());
    const auto exact = analysis::run(analysis::kernels(*problem.contract).value().exact, call);
    Device reference = open("reference").value();
    EXPECT_TRUE(reference.run(call).ok());
    return distance(reference::read(call.operand(2), 0, 0), exact[0][2][0], Type::f32).length;
  };
  const auto products = [](std::int64_t inner, double a, double b) { return static_cast<double>(inner) * a * b; };
  EXPECT_EQ(error("chain", 0x1p25f, 1, 1, 1), 1);
  EXPECT_LE(1, product_bound(1, 0x1p25 + 1));
  EXPECT_LE(error("hopper", 0x1p25f, 1, 1, 1), hopper_bound(1, 0x1p25 + 1));
  EXPECT_LE(error("block15", 0x1p25f, 1, 1, 1), block15_bound(1, 1, 0x1p25));
  for (const std::int64_t inner : {16, 1024}) {  // each product is nearly 2^-151, and lost
    const double lost = error("hopper", 0x1p-149f, inner, 0x1.fep-76f, 0x1p-76f);
    EXPECT_GT(lost, hopper_bound(inner, products(inner, 0x1.fep-76, 0x1p-76) + 0x1p-149) / 16);
    EXPECT_LE(lost, hopper_bound(inner, products(inner, 0x1.fep-76, 0x1p-76) + 0x1p-149));
  }
}
TEST(ErrorBound, HardDataComesNearTheBoundOfEveryArithmetic) {
  double hopper = 0, block15 = 0;
  for (const char* kind : kHardHalves) {
    hopper = std::max(hopper, hopper_ratio(16, "f16", kind));
    block15 = std::max(block15, block15_ratio(1, "f32", kind));
  }
  EXPECT_GT(hopper, 1.0 / 16);
  EXPECT_GT(block15, 1.0 / 64);
}

// A bound that left out all but one rounding in 16 would be seen, and of a single rounding any: some data comes that
// near.
TEST(ErrorBound, HardDataComesNearTheBound) {
  double chain = 0, row = 0, column = 0;
  for (const char* kind : kHard) {
    chain = std::max(chain, product_ratio(100, kind));
    row = std::max(row, fused_row_ratio(2, kind));
    column = std::max(column, fused_column_ratio(1, kind));
  }
  EXPECT_GT(chain, 1.0 / 16);
  EXPECT_GT(row, 1.0 / 16);
  EXPECT_GT(column, 1.0 / 16);
}

// The product of two vectors of equal elements.
float dot(std::int64_t inner, float a, float b) {
  const std::vector<float> left(static_cast<std::size_t>(inner), a), right(static_cast<std::size_t>(inner), b);
  float c = 0;
  Device reference = open("reference").value();
  EXPECT_TRUE(
      gemm_forward(reference,
                   {.a = matrix(left.data(), 1, inner), .b = matrix(right.data(), inner, 1), .c = matrix(&c, 1, 1)})
          .ok());
  return c;
}
// From 2^24 on adding 1 changes nothing: the error grows up to the sum of magnitudes, and R u / (1 - R u) is below 0.
TEST(ErrorBound, ProductOfMoreIndicesThanBinary32Counts) {
  for (const std::int64_t inner : {1 << 24, (1 << 24) + 5, 1 << 25}) {
    const double exact = static_cast<double>(inner), found = dot(inner, 1, 1);
    EXPECT_EQ(found, 0x1p24);
    EXPECT_LE(exact - found, product_bound(inner, exact)) << inner;
  }
}
// Products of half the smallest number are each rounded to nothing.
TEST(ErrorBound, ProductBelowTheNormalRange) {
  for (const std::int64_t inner : {1, 1000}) {
    const double exact = static_cast<double>(inner) * 0x1p-150, found = dot(inner, 0x1p-75f, 0x1p-75f);
    EXPECT_EQ(found, 0);
    EXPECT_LE(exact, product_bound(inner, exact)) << inner;
  }
}
// As large as a call can be: 2^24 columns by the contracts, 2^62 rows or inner indices of the smallest type by the
// address space.
TEST(ErrorBound, NoSizeMakesABoundMeaningless) {
  constexpr std::int64_t kCols = std::int64_t{1} << 24, kRows = std::int64_t{1} << 62;
  for (const Contract* contract : contracts())
    for (const Limit& limit : contract->limits)
      if (limit.symbol == "cols") {
        EXPECT_LE(limit.most, kCols) << contract->name;
      }
  EXPECT_EQ(row_sum_roundings(kCols), 8206);
  EXPECT_EQ(column_sum_roundings(kRows), 375);
  for (const std::int64_t roundings : {row_sum_roundings(kCols), column_sum_roundings(kRows)}) {
    EXPECT_GT(relative_bound(roundings + 1), 0);
    EXPECT_LT(relative_bound(roundings + 1), 0x1p-10);
  }
  for (const std::int64_t inner : {(std::int64_t{1} << 24) - 1, std::int64_t{1} << 24, std::int64_t{1} << 40, kRows}) {
    EXPECT_GE(product_bound(inner, 1), 1 - 0x1p-23);
    EXPECT_LE(product_bound(inner, 1), 1 + 0x1p-23);
  }
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

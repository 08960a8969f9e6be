// A-priori error bounds of the canonical sums (reduction.h) as formulas in the size: how many roundings an element goes
// through at the most, and what that many can change. docs/error_bounds.md derives them.
#pragma once
#include <cstdint>

#include "patterns/reduction.h"

namespace tokitai {

// The elements of a lane's chain, the levels of the pair tree, the blocks: a chain's first step adds to +0, which is
// exact, and so is joining with a lane that has no element.
constexpr std::int64_t row_sum_roundings(std::int64_t cols) {
  const std::int64_t in_block = cols < kBlock ? cols : kBlock, lanes = cols < kLanes ? cols : kLanes;
  std::int64_t levels = 0;
  while ((std::int64_t{1} << levels) < lanes) ++levels;
  return (in_block + kLanes - 1) / kLanes - 1 + levels + (cols + kBlock - 1) / kBlock - 1;
}

// Chains of 32 at every level.
constexpr std::int64_t column_sum_roundings(std::int64_t rows) {
  std::int64_t roundings = 0;
  for (std::int64_t count = rows; count > 1; count = (count + kChain - 1) / kChain)
    roundings += (count < kChain ? count : kChain) - 1;
  return roundings;
}

// Above what double arithmetic loses in the bounds below.
inline constexpr double kBoundUp = 1 + 0x1p-48;

// r roundings to nearest change a sum by at most this times the sum of magnitudes: (1 + u)^r - 1 <= r u / (1 - r u),
// u = 2^-24. Row and column sums of any size have r < 2^14.
constexpr double relative_bound(std::int64_t roundings) {
  const double ru = static_cast<double>(roundings) * 0x1p-24;
  return ru / (1 - ru) * kBoundUp;
}
// What each rounding of a product or quotient can lose below the normal range, with what is carried of it.
inline constexpr double kUnderflow = 0x1p-149;

// The same of a sum of `count` fused products, whose chains round in their first step, too.
constexpr double fused_sum_bound(std::int64_t roundings, std::int64_t count, double magnitudes) {
  return relative_bound(roundings + 1) * magnitudes + static_cast<double>(count) * kUnderflow * kBoundUp;
}

// A chain of one fma per inner index; the magnitudes of its products and of what it starts with add up to
// `magnitudes`. It holds for any number of them: a chain has no limit, and r u / (1 - r u) is no bound from r = 2^24
// on.
constexpr double product_bound(std::int64_t inner, double magnitudes) {
  const double ku = static_cast<double>(inner) * 0x1p-24;
  return ((ku < 1 ? ku : 1) * magnitudes + ku * 0x1p-126) * kBoundUp;
}

// The arithmetic hopper: groups of 16 whose terms and sums are cut toward zero. `magnitudes` is the sum of |a| |b|,
// where a factor that is not zero counts as at least its type's smallest normal number, and of what the sum starts
// with. A sum that is not zero has an exponent of at least -126: that is what the constant is for.
constexpr double hopper_bound(std::int64_t inner, double magnitudes) {
  const auto groups = static_cast<double>((inner + 15) / 16);
  return groups * (21 * 0x1p-25 * magnitudes + 0x1p-146) * kBoundUp;
}

// The arithmetic block15: `sizes` is the sum over blocks of how many products a block has times the largest magnitudes
// of both its sides, each at least 2^-63; `start` is the magnitude of what the sum starts with.
constexpr double block15_bound(std::int64_t inner, double sizes, double start) {
  const auto blocks = static_cast<double>((inner + 127) / 128);
  return (0x1.008p-11 * sizes + blocks * ((4 * sizes + start) * 0x1p-23 + 0x1p-149)) * kBoundUp;
}

}  // namespace tokitai

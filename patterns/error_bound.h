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

// One fma per inner index.
constexpr std::int64_t product_roundings(std::int64_t inner) { return inner; }

// r roundings to nearest change a sum by at most this times the sum of magnitudes: (1 + u)^r - 1 <= r u / (1 - r u),
// u = 2^-24. The last factor is above what double arithmetic loses here.
constexpr double relative_bound(std::int64_t roundings) {
  const double ru = static_cast<double>(roundings) * 0x1p-24;
  return ru / (1 - ru) * (1 + 0x1p-48);
}
// What each rounding of a product or quotient can lose below the normal range, with what is carried of it.
inline constexpr double kUnderflow = 0x1p-149;

}  // namespace tokitai

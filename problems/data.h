// Test data by family: the same numbers on every machine, made by the counter-based generator.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokitai/view.h"

namespace tokitai::problems {

enum class Family : std::uint8_t {
  normal,      // standard normal
  huge,        // near the top of the type's range
  subnormal,   // at and below the smallest normal
  cancelling,  // large values of both signs that nearly cancel
  constant,    // one value throughout
  zero,        // +0 and -0
  special,     // normal with NaNs (several payloads) and infinities strewn in
};
inline constexpr Family kFamilies[] = {Family::normal,   Family::huge, Family::subnormal, Family::cancelling,
                                       Family::constant, Family::zero, Family::special};
std::string_view name_of(Family family);

// How indices are spread over [0, limit).
enum class Spread : std::uint8_t { uniform, zipf, equal };

// Whether every element is drawn, or about a million are and then repeated: for timing large operands.
enum class Filling : std::uint8_t { whole, repeated };

// Fills every element of a float view. `stream` tells operands apart. `nonnegative` drops the signs.
void fill(const View& view, Family family, std::uint64_t seed, std::uint64_t stream, bool nonnegative, Filling filling);

// Fills an integer view with indices in [0, limit); one in sixteen becomes `hole`, where one is given.
void fill_indices(const View& view, std::int64_t limit, Spread spread, std::uint64_t seed, std::uint64_t stream,
                  const std::int64_t* hole);

// Fills an integer view with offsets that ascend from 0 to `rows`: those of groups that have as many rows, or, where
// `spread` is not equal, of a row's group drawn as an index is, every fourth group left empty.
void fill_offsets(const View& view, std::int64_t rows, Spread spread, std::uint64_t seed, std::uint64_t stream);

}  // namespace tokitai::problems

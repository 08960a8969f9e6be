// What every machine of the segment pattern shares: which indices are refused, and the exact f16 sum.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "contract/record.h"
#include "numerics/half.h"

namespace tokitai {

// An int64 in units of 2^-24 holds this many f16 values.
inline constexpr std::int64_t kMostOccurrences = std::int64_t{1} << 23;

// A sum of f16 values: finite ones exactly, infinities and NaNs beside them.
struct ExactSum {
  std::int64_t finite = 0;  // in units of 2^-24
  float special = 0;        // 0 while every term is finite

  TK_FN void add(float value) { add_exact(static_cast<double>(value)); }
  // A partial sum that is exact in double.
  TK_FN void add_exact(double value) {
    if (value - value == 0.0)
      finite += static_cast<std::int64_t>(value * 0x1p24);
    else
      special += static_cast<float>(value);
  }
  TK_FN bool is_finite() const { return special == 0.0f; }
  // One rounding. A zero sum is +0. Far beyond 65504 the clamp keeps the conversion to double exact.
  TK_FN std::uint16_t to_f16() const {
    if (!is_finite()) return narrow_f16(special);
    constexpr std::int64_t kInfinite = std::int64_t{1} << 48;
    return narrow_f16_from_double(static_cast<double>(std::clamp(finite, -kInfinite, kInfinite)) * 0x1p-24);
  }
  TK_FN float to_f32() const { return is_finite() ? static_cast<float>(finite) * 0x1p-24f : canonical(special); }
};

TK_FN void* row_pointer(const View& view, std::int64_t row) {
  return static_cast<std::byte*>(view.data) + row * view.row_stride * static_cast<std::int64_t>(size_of(view.type));
}

// The indices of a call, and which are refused: the padding index is asked for before the range.
struct IndexRange {
  View index;
  std::int64_t rows;  // of the table
  Option padding;

  TK_FN IndexRange(const Call& call, const Record& record)
      : index(call.operand(record.index)),
        rows(call.operand(record.table).rows()),
        padding(call.option(record.padding)) {}
  TK_FN std::int64_t at(std::int64_t i) const {
    return index.type == Type::i32 ? static_cast<const std::int32_t*>(index.data)[i]
                                   : static_cast<const std::int64_t*>(index.data)[i];
  }
  TK_FN bool padded(std::int64_t v) const { return padding.set && v == padding.i; }
  TK_FN bool valid(std::int64_t v) const { return padded(v) || (v >= 0 && v < rows); }
  // The first position whose index is refused in [begin, end), or -1.
  TK_FN std::int64_t first_bad(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i)
      if (!valid(at(i))) return i;
    return -1;
  }
};

}  // namespace tokitai

// The arithmetic hopper of a matrix product: how the tensor cores of NVIDIA's Hopper add 16 products of f16 or bf16
// numbers to a binary32 one, as they were found to do (docs/products.md says by which comparisons). In integers, so
// that the same text runs everywhere.
#pragma once
#include <cstdint>

#include "numerics/base.h"

namespace tokitai::hopper {

inline constexpr int kGroup = 16;
inline constexpr int kFraction = 25;         // bits below the largest exponent that a term keeps
inline constexpr int kLeastExponent = -133;  // of the largest one
// Exponents of the smallest normal numbers.
inline constexpr int kSmallestF16 = -14, kSmallestBf16 = -126, kSmallestF32 = -126;

// A finite number as its encoding has it: significand * 2^(exponent - 23), where no exponent is below the smallest of
// the type that the number had before it was widened.
struct Parts {
  std::int64_t significand;
  int exponent;
};
TK_FN Parts parts_of(float x, int smallest) {
  const auto field = static_cast<int>((bits(x) >> 23) & 0xffu);
  const auto fraction = static_cast<std::int64_t>(bits(x) & 0x7fffffu);
  const std::int64_t magnitude = field == 0 ? fraction : fraction | 0x800000;
  const int exponent = field == 0 ? -126 : field - 127;
  const std::int64_t significand = exponent < smallest ? magnitude >> (smallest - exponent) : magnitude;
  return {(bits(x) >> 31) != 0 ? -significand : significand, exponent < smallest ? smallest : exponent};
}
TK_FN bool finite(float x) { return (bits(x) & 0x7f800000u) != 0x7f800000u; }

// What is kept of a significand, toward zero.
TK_FN std::int64_t shifted_right(std::int64_t significand, int by) {
  if (by > 62) return 0;
  return significand < 0 ? -(-significand >> by) : significand >> by;
}

// A sum in units of 2^(largest - 25) as binary32: what lies below the last place is lost, and nothing left is +0.
TK_FN float truncated(std::int64_t sum, int largest) {
  if (sum == 0) return 0.0f;
  const std::uint32_t sign = sum < 0 ? 0x80000000u : 0u;
  const auto u = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  // The top bit, from a conversion that cannot round up to the next power of two.
  const int top = static_cast<int>(bits(static_cast<float>(u & ~(u >> 1))) >> 23) - 127;
  const int exponent = top + largest - kFraction;
  if (exponent > 127) return from_bits(sign | 0x7f800000u);
  // Where the last place lies, in units: 23 below the top, or 2^-149.
  const int last = exponent >= -126 ? top - 23 : -149 - (largest - kFraction);
  const auto significand = static_cast<std::uint32_t>(last >= 0 ? u >> last : u << -last);
  if (significand == 0) return 0.0f;
  const std::uint32_t field = exponent >= -126 ? static_cast<std::uint32_t>(exponent + 126) << 23 : 0u;
  return from_bits(sign | (field + significand));  // a normal number's significand has its hidden bit
}

// What the terms of a group have in common: the products of pairs of f16 or bf16 numbers, whose type's smallest normal
// number is 2^smallest, and c.
struct Group {
  int smallest;
  int largest = kLeastExponent;  // exponent
  float unbounded = 0.0f;        // what those terms give that are no finite numbers: an infinity or a NaN

  TK_FN void meet(float a, float b) {
    if (!hopper::finite(a) || !hopper::finite(b))
      unbounded = unbounded + a * b;
    else if (a != 0.0f && b != 0.0f)
      meet(parts_of(a, smallest).exponent + parts_of(b, smallest).exponent);
  }
  TK_FN void meet(float c) {
    if (!hopper::finite(c))
      unbounded = unbounded + c;
    else if (c != 0.0f)
      meet(parts_of(c, kSmallestF32).exponent);
  }
  TK_FN bool finite() const { return unbounded == 0.0f; }

  // What is kept of a product, and of c, in units of 2^(largest - 25).
  TK_FN std::int64_t kept(float a, float b) const {
    const Parts x = parts_of(a, smallest), y = parts_of(b, smallest);
    return shifted_right(x.significand * y.significand, largest - x.exponent - y.exponent + 46 - kFraction);
  }
  TK_FN std::int64_t kept(float c) const {
    const Parts x = parts_of(c, kSmallestF32);
    return shifted_right(x.significand * 4, largest - x.exponent);
  }
  // The sum of what is kept.
  TK_FN float rounded(std::int64_t sum) const { return finite() ? truncated(sum, largest) : unbounded; }

 private:
  TK_FN void meet(int exponent) { largest = exponent > largest ? exponent : largest; }
};

// At most 16 of each.
TK_FN Group group_of(const float* a, const float* b, int count, float c, int smallest) {
  Group group{smallest};
  for (int k = 0; k < count; ++k) group.meet(a[k], b[k]);
  group.meet(c);
  return group;
}
TK_FN float add_group(const float* a, const float* b, int count, float c, int smallest) {
  const Group group = group_of(a, b, count, c, smallest);
  std::int64_t sum = group.kept(c);
  for (int k = 0; k < count; ++k) sum += group.kept(a[k], b[k]);
  return group.rounded(sum);
}

// The same in fewer operations, where it holds: the exponents of what is zero, or not finite, lie far away from all
// others; between two bounds a product in binary32 times a power of two, cut toward zero, is what is kept of it (what
// it lost below 2^-126 is less than the unit), and 16 of them fit 32 bits.
inline constexpr int kQuickNone = -1000, kQuickUnbounded = 4000, kQuickAbove = -100, kQuickBelow = 120;
TK_FN int quick_exponent(float x, int smallest) {
  const std::uint32_t magnitude = bits(x) & 0x7fffffffu;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (magnitude == 0) return kQuickNone;
  return exponent == 128 ? kQuickUnbounded : exponent < smallest ? smallest : exponent;
}
// Of no terms at all: any exponent will do.
TK_FN int quick_largest(int largest) { return largest < kQuickNone + 400 ? 0 : largest; }
TK_FN bool is_quick(int largest) {
  return quick_largest(largest) > kQuickAbove && quick_largest(largest) < kQuickBelow;
}
TK_FN int quick_term(float term, int largest) {
  return static_cast<int>(term * from_bits(static_cast<std::uint32_t>(127 + kFraction - quick_largest(largest)) << 23));
}

}  // namespace tokitai::hopper

// The arithmetic block15 of a matrix product: the contracted index is cut into blocks of 128, a block of each factor
// becomes integers of 15 bits under one power of two, a block's products are added up exactly, and blocks are chained
// by one fma each. docs/products.md says why these integers.
#pragma once
#include <cstdint>

#include "numerics/base.h"

namespace tokitai::block15 {

inline constexpr int kBlock = 128;
// Below it no scale of a block would be exact; from 2^64 on the product of two could not be.
inline constexpr int kLeastExponent = -63;
inline constexpr float kTooLarge = 0x1p+64f;
// The exponent of a block that holds a NaN, an infinity or more: its integers are 0 and its scale is NaN.
inline constexpr int kNotNumbers = -128;

// q = 128 hi + lo, and |hi|, |lo| <= 127.
struct Integer {
  int hi, lo;
};

TK_FN float power_of_two(int exponent) { return from_bits(static_cast<std::uint32_t>(exponent + 127) << 23); }

// A magnitude's bits are in the order of the magnitudes, a NaN above all: the largest of them stands for a block.
TK_FN std::uint32_t magnitude_of(float x) { return bits(x) & 0x7fffffffu; }
// The exponent that a block's integers share.
TK_FN int exponent_of(std::uint32_t largest_magnitude) {
  const int exponent = static_cast<int>(largest_magnitude >> 23) - 127;
  if (largest_magnitude >= bits(kTooLarge)) return kNotNumbers;
  return largest_magnitude == 0 ? 0 : exponent < kLeastExponent ? kLeastExponent : exponent;
}

// An element of a block with that exponent.
TK_FN Integer integer_of(float x, int exponent) {
  if (exponent == kNotNumbers) return {0, 0};
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, in the lowest bits
  const float scaled = x * power_of_two(13 - exponent);
  int q = static_cast<int>(bits(scaled + kRound)) - static_cast<int>(bits(kRound));
  q = q > 16383 ? 16383 : q < -16383 ? -16383 : q;
  int hi = (q + 63 + ((q >> 7) & 1)) >> 7;
  hi = hi > 127 ? 127 : hi < -127 ? -127 : hi;
  return {hi, q - 128 * hi};
}

// What a pair of integers adds to a block's sum; the product of their low parts is left out.
TK_FN int product(Integer a, Integer b) { return 128 * a.hi * b.hi + a.hi * b.lo + a.lo * b.hi; }

// The two scales whose product belongs to a block: 2^(ea + eb - 19), exact.
TK_FN float scale_of(int exponent, int less) {
  return exponent == kNotNumbers ? from_bits(kCanonicalNan) : power_of_two(exponent - less);
}
TK_FN float left_scale(int exponent) { return scale_of(exponent, 13); }
TK_FN float right_scale(int exponent) { return scale_of(exponent, 6); }

// One block of a chain: `sum` of at most 128 products of integers.
TK_FN float add_block(int sum, float left_scale, float right_scale, float chain) {
  return fma(static_cast<float>(sum), left_scale * right_scale, chain);
}
// The chain's end: a block of zeros that is left out changes no bit.
TK_FN float end_of(float chain) { return chain + 0.0f; }

}  // namespace tokitai::block15

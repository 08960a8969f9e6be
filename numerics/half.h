// f16 and bf16 to and from f32: every value kept on widening, one rounding to nearest even on narrowing.
// Integer arithmetic, so that neither the rounding mode nor flush-to-zero of the caller can reach a result,
// and so that every machine, with or without conversion instructions, gives the same bits.
#pragma once
#include <bit>
#include <cstdint>

#include "numerics/base.h"

namespace tokitai {

inline constexpr std::uint16_t kCanonicalNanF16 = 0x7e00;
inline constexpr std::uint16_t kCanonicalNanBf16 = 0x7fc0;

namespace half_detail {

// value / 2^shift to the nearest integer, ties to even; shift >= 1, value + 2^(shift-1) must not overflow.
template <class U> TK_FN U shift_right_to_nearest_even(U value, U shift) {
  return (value + ((U{1} << (shift - 1)) - 1) + ((value >> shift) & 1)) >> shift;
}

// A wider binary format to f16. `mantissa` is the number of its stored mantissa bits, `bias` its exponent's.
template <class U, int mantissa, int bias> TK_FN std::uint16_t narrow_to_f16(U u) {
  constexpr int kBits = sizeof(U) * 8;
  constexpr U kOne = 1;
  constexpr U kInfinite = (kOne << (kBits - 1)) - (kOne << mantissa);
  constexpr U kSmallestNormal = U{bias - 14} << mantissa;  // 2^-14
  U sign = (u >> (kBits - 16)) & 0x8000;
  U magnitude = u & ((kOne << (kBits - 1)) - 1);

  // Rebias, drop the bits f16 has no room for; a carry runs into the exponent, as it should. What is too
  // large, infinity included, is cut down to 2^16 first, which becomes infinity.
  constexpr U kTooLarge = U{bias + 16} << mantissa;  // 2^16
  U bounded = magnitude < kTooLarge ? magnitude : kTooLarge;
  U normal = shift_right_to_nearest_even<U>(bounded - (U{bias - 15} << mantissa), mantissa - 10);

  // Below 2^-14: the significand in units of 2^-24, f16's spacing there. From kBits - 1 on shifts give zero.
  U exponent = magnitude >> mantissa;
  U significand = (magnitude & ((kOne << mantissa) - 1)) | (kOne << mantissa);
  U wanted = U{bias + mantissa - 24} - exponent;
  U shift = exponent < U{bias - 14} && wanted < kBits - 1 ? wanted : kBits - 1;
  U subnormal = shift_right_to_nearest_even<U>(significand, shift);

  U rounded = magnitude < kSmallestNormal ? subnormal : normal;
  return static_cast<std::uint16_t>(magnitude > kInfinite ? U{kCanonicalNanF16} : sign | rounded);
}

}  // namespace half_detail

// Exact. A NaN keeps its sign and its payload, shifted to the top of the mantissa.
TK_FN float widen_f16(std::uint16_t h) {
  std::uint32_t magnitude = h & 0x7fffu;
  std::uint32_t sign = (h & 0x8000u) << 16;
  // Infinity and NaN move the exponent twice: from 31 to 255.
  std::uint32_t normal = (magnitude << 13) + (magnitude < 0x7c00u ? 112u << 23 : 224u << 23);
  // Exact in any mode: at most ten bits, times a power of two, far inside f32's normal range.
  std::uint32_t subnormal = bits(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  return from_bits(sign | (magnitude < 0x0400u ? subnormal : normal));
}

// One rounding to nearest even, subnormals kept; from 65520 on infinity; every NaN becomes 0x7e00.
TK_FN std::uint16_t narrow_f16(float x) { return half_detail::narrow_to_f16<std::uint32_t, 23, 127>(bits(x)); }

// The same from binary64, for sums that a double holds exactly: going through f32 would round twice.
TK_FN std::uint16_t narrow_f16_from_double(double x) {
  return half_detail::narrow_to_f16<std::uint64_t, 52, 1023>(std::bit_cast<std::uint64_t>(x));
}

// Exact: bf16 is the upper half of f32. A NaN keeps its bits.
TK_FN float widen_bf16(std::uint16_t h) { return from_bits(static_cast<std::uint32_t>(h) << 16); }

// One rounding to nearest even, subnormals kept, overflow to infinity; every NaN becomes 0x7fc0.
TK_FN std::uint16_t narrow_bf16(float x) {
  std::uint32_t u = bits(x);
  std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? kCanonicalNanBf16 : rounded);
}

}  // namespace tokitai

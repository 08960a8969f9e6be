// Exact sums of f16 values on a GPU: chains in two floats, longer ones in 64-bit integers, one rounding at the end.
#pragma once
#include "machines/device/alias.h"
// The alias header comes first: it says what TK_FN is.
#include "numerics/base.h"

namespace tokitai::device {

// Partial sums of f16 are exact: an integer in units of 2^-24. Three patterns beyond every finite sum stand for
// the infinities and NaN.
inline constexpr i64 kExactNan = -0x7fffffffffffffffLL - 1;
inline constexpr i64 kExactInfinity = 0x7fffffffffffffffLL;

// A chain of up to 32 f16 values, exact in two floats: multiples of 1/8, and what is left of each value. Eight
// terms of the rest stay exact; then its own multiples of 1/8 move over.
struct HalfChain {
  float high = 0.0f, low = 0.0f;
  static constexpr float kRound = 0x1.8p+20f;  // adding it rounds to a multiple of 1/8

  TK_FN void add(float v) {
    const float h = (v + kRound) - kRound;
    high = high + h;
    low = low + (v - h);
  }
  TK_FN void settle() {
    const float h = finite() ? (low + kRound) - kRound : 0.0f;  // an infinite term left a NaN in the rest
    high = high + h;
    low = low - h;
  }
  // An infinity or NaN among the terms shows in the first sum.
  TK_FN bool finite() const { return high - high == 0.0f; }
  TK_FN i64 exact() const {
    if (!finite()) return high != high ? kExactNan : high > 0.0f ? kExactInfinity : -kExactInfinity;
    return static_cast<i64>(static_cast<int>(high * 8.0f)) * (i64{1} << 21) +
           static_cast<i64>(static_cast<int>(low * 0x1p24f));
  }
  TK_FN float single() const { return finite() ? high + low : high; }
  // Rounded to odd, so that one more rounding gives what one rounding of the exact sum would.
  TK_FN float odd() const {
    if (!finite()) return high;
    const float s = high + low;
    const float lost = low - (s - high);  // exact: |high| >= |low| or high is 0
    const u32 u = bits(s);
    const bool inward = lost != 0.0f && (lost < 0.0f) != (s < 0.0f);
    return from_bits(lost == 0.0f ? u : (inward ? u - 1u : u) | 1u);
  }
};

// Sums of exact partial results.
struct ExactTotal {
  i64 finite = 0;
  float special = 0.0f;
  TK_FN void add(i64 v) {
    if (v == kExactNan)
      special = special + from_bits(kCanonicalNan);
    else if (v == kExactInfinity || v == -kExactInfinity)
      special = special + (v > 0 ? kInfinity : -kInfinity);
    else
      finite += v;
  }
  TK_FN i64 exact() const {
    if (special == 0.0f) return finite;
    return special != special ? kExactNan : special > 0.0f ? kExactInfinity : -kExactInfinity;
  }
  // The top 63 - 24 bits survive a shift; the rest leaves its mark in the last one.
  TK_FN float odd() const {
    if (special != 0.0f) return special;
    const bool negative = finite < 0;
    u64 magnitude = negative ? static_cast<u64>(0) - static_cast<u64>(finite) : static_cast<u64>(finite);
    int shift = 0;
    while ((magnitude >> shift) >= (u64{1} << 24)) ++shift;
    u32 top = static_cast<u32>(magnitude >> shift);
    if ((static_cast<u64>(top) << shift) != magnitude) top |= 1u;
    const float scale = from_bits(static_cast<u32>(127 - 24 + shift) << 23);
    const float v = static_cast<float>(top) * scale;
    return negative ? -v : v;
  }
  TK_FN float single() const {
    if (special != 0.0f) return special;
    const bool negative = finite < 0;
    const u64 magnitude = negative ? static_cast<u64>(0) - static_cast<u64>(finite) : static_cast<u64>(finite);
    int shift = 0;
    while ((magnitude >> shift) >= (u64{1} << 26)) ++shift;
    u32 top = static_cast<u32>(magnitude >> shift);
    if ((static_cast<u64>(top) << shift) != magnitude) top |= 1u;
    // 26 bits with a sticky last one: the conversion rounds once, the scale is exact.
    const float v = static_cast<float>(top) * from_bits(static_cast<u32>(127 - 24 + shift) << 23);
    return negative ? -v : v;
  }
};

}  // namespace tokitai::device

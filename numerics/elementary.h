// exp, log, tanh, erf for one float or a SIMD lane type: one text made of correctly rounded operations,
// integer operations and select, so the bits are the same wherever those are. No tables, no branches: lanes
// have neither. docs/numerics.md has the worst errors over all 2^32 inputs; tests/elementary_test.cpp asserts
// them.
#pragma once
#include <cstdint>

#include "numerics/base.h"

namespace tokitai {

namespace elementary_detail {

// 1.5 * 2^23: adding it to |x| < 2^22 rounds x to an integer, which then lies in the lowest mantissa bits.
inline constexpr float kRound = 12582912.0f;
inline constexpr float kLog2E = 0x1.715476p+0f;
// ln 2 = kLn2High + kLn2Low. k * kLn2High - x is exact in one fma for the nearest integer k, because the
// difference is below 0.35 and both terms are multiples of 2^-25.
inline constexpr float kLn2High = 0x1.62e430p-1f;
inline constexpr float kLn2Low = -0x1.05c610p-29f;

// (e^r - 1) / r for |r| <= 0.3467: minimax for the relative error of e^r, which stays below 2^-28.
template <class T> TK_FN T exp_slope(T r) {
  T q = fma(r, T(0x1.6acc02p-10f), T(0x1.123de0p-7f));
  q = fma(q, r, T(0x1.555858p-5f));
  q = fma(q, r, T(0x1.55548cp-3f));
  q = fma(q, r, T(0x1.fffffcp-2f));
  return fma(q, r, T(1.0f));
}

// e^x = significand * 2^k, with k + offset in the lowest bits of `shifted`. Needs |x| < 1000, or a NaN.
template <class T> struct ExpParts {
  T significand, k, shifted;
};
template <class T> TK_FN ExpParts<T> exp_parts(T x, float offset) {
  T shifted = fma(x, T(kLog2E), T(kRound + offset));
  T k = shifted - T(kRound + offset);
  T r = fma(k, T(-kLn2High), x);
  r = fma(k, T(-kLn2Low), r);
  return {fma(exp_slope(r), r, T(1.0f)), k, shifted};
}

// significand * 2^k, rounded once, for -150 <= k <= 0 and a NaN; k + 191 lies in the lowest bits of `shifted`: k + 64
// always fits one exponent, and 2^-64 brings it back. (A vector machine may have an instruction for it.)
template <class T> TK_FN T times_power(T significand, T, T shifted) {
  return significand * from_bits(bits(shifted) << 23) * T(0x1p-64f);
}

}  // namespace elementary_detail

// e^x. Overflows to infinity, underflows through the subnormals to +0.
// 2^k is applied in two exact halves, so that only the last multiplication can round (in the subnormals) or
// overflow. It is multiplied rather than added into the exponent bits so that a NaN stays one.
template <class T> TK_FN T exp(T x) {
  x = select(x < T(-104.0f), T(-104.0f), x);  // e^-104 < 2^-150 rounds to 0; a NaN fails both comparisons
  x = select(x > T(89.0f), T(89.0f), x);
  auto [significand, _, shifted] = elementary_detail::exp_parts(x, 2.0f * 127.0f);
  auto k = bits(shifted);
  auto half = k >> 1;
  return significand * from_bits(half << 23) * from_bits((k - half) << 23);
}

// exp for x <= 0 and NaN, the same bits with six operations fewer. Softmax and cross-entropy, which subtract the
// maximum, need no more. (Right up to x = 44 as well, wrong beyond.)
template <class T> TK_FN T exp_nonpositive(T x) {
  x = maximum(T(-104.0f), x);            // keeps a NaN
  using elementary_detail::times_power;  // beside a vector machine's own
  auto [significand, k, shifted] = elementary_detail::exp_parts(x, 127.0f + 64.0f);
  return times_power(significand, k, shifted);
}

// Natural logarithm. x = 2^k * m with m in [sqrt(1/2), sqrt(2)), f = m - 1 exactly, and
// log x = k ln 2 + f + f^2 p(f). The rounding error of k ln 2 + f is carried along: where both nearly cancel
// it would be as large as the final rounding.
template <class T> TK_FN T log(T x) {
  using namespace elementary_detail;
  constexpr std::uint32_t kSqrtHalf = 0x3f3504f3u;
  auto is_subnormal = x < T(0x1p-126f);
  T normal = select(is_subnormal, x * T(0x1p+23f), x);
  auto u = bits(normal) + (0x3f800000u - kSqrtHalf);
  // 0x4b000000 is 2^23: the biased exponent becomes a float without a conversion.
  T bias = select(is_subnormal, T(0x1p+23f + 150.0f), T(0x1p+23f + 127.0f));
  T k = from_bits((u >> 23) + 0x4b000000u) - bias;
  T f = from_bits((u & 0x007fffffu) + kSqrtHalf) - T(1.0f);

  T p = fma(f, T(0x1.147362p-4f), T(-0x1.de01e8p-4f));
  p = fma(p, f, T(0x1.e6c004p-4f));
  p = fma(p, f, T(-0x1.fc28c8p-4f));
  p = fma(p, f, T(0x1.233ba2p-3f));
  p = fma(p, f, T(-0x1.555c44p-3f));
  p = fma(p, f, T(0x1.99a476p-3f));
  p = fma(p, f, T(-0x1.000006p-2f));
  p = fma(p, f, T(0x1.555548p-2f));
  p = fma(p, f, T(-0.5f));

  T high = fma(k, T(kLn2High), f);
  T lost = f - fma(k, T(-kLn2High), high);  // exact, as |k ln 2| > |f| unless k is 0
  T low = fma(f * f, p, fma(k, T(kLn2Low), lost));
  T y = high + low;
  y = select(x < T(0.0f), from_bits(bits(x) | kCanonicalNan), y);
  y = select(x == T(0.0f), T(-kInfinity), y);
  return select(x < T(kInfinity), y, x);  // infinity and NaN are their own logarithms
}

// Odd by construction. Below 1 a polynomial; from there 1 - 2 / (e^2a + 1), where the quotient is below a
// quarter, and its errors count for as little. (At 1.25 the polynomial would be off by 1.4 ulp.)
template <class T> TK_FN T tanh(T x) {
  using namespace elementary_detail;
  auto sign = bits(x) & 0x80000000u;
  T a = from_bits(bits(x) - sign);

  T u = a * a;
  T p = fma(u, T(-0x1.7803d8p-12f), T(0x1.2db66ep-9f));
  p = fma(p, u, T(-0x1.0466f8p-7f));
  p = fma(p, u, T(0x1.600bc0p-6f));
  p = fma(p, u, T(-0x1.b96286p-5f));
  p = fma(p, u, T(0x1.110be6p-3f));
  p = fma(p, u, T(-0x1.55553cp-2f));
  T near = fma(a, p * u, a);

  // From 10 on the result is 1. kLn2Low is left out: it would move the result by 0.02 ulp.
  T clamped = select(a > T(10.0f), T(10.0f), a);
  T doubled = clamped + clamped;
  T shifted = fma(doubled, T(kLog2E), T(kRound + 127.0f));
  T k = shifted - T(kRound + 127.0f);
  T r = fma(k, T(-kLn2High), doubled);
  T scale = from_bits(bits(shifted) << 23);
  T far = T(1.0f) - T(2.0f) / fma(scale, exp_slope(r) * r, scale + T(1.0f));

  return from_bits(bits(select(a < T(1.0f), near, far)) | sign);
}

// Odd by construction. Two polynomials: below 1 in x^2 - 1/2, which rounds less than x^2 does, and from there
// in a - kCentre up to where the result is 1. kCentre is chosen among the floats near 2.375 so that
// erf(kCentre) is a float to 2^-35: the constant term, nearly all of the result, then costs no accuracy.
template <class T> TK_FN T erf(T x) {
  constexpr float kCentre = 0x1.300428p+1f;
  auto sign = bits(x) & 0x80000000u;
  T a = from_bits(bits(x) - sign);

  T v = fma(a, a, T(-0.5f));
  T p = fma(v, T(0x1.50395cp-14f), T(-0x1.288f12p-11f));
  p = fma(p, v, T(0x1.c8175cp-9f));
  p = fma(p, v, T(-0x1.2b8d9ep-6f));
  p = fma(p, v, T(0x1.454374p-4f));
  p = fma(p, v, T(-0x1.1fd164p-2f));
  p = fma(p, v, T(-0x1.1ae14ep-5f));
  T near = fma(a, p, a);

  T t = select(a > T(3.96875f), T(3.96875f), a) - T(kCentre);
  T far = fma(t, T(-0x1.849dcap-22f), T(0x1.a30744p-20f));
  far = fma(far, t, T(0x1.7ae040p-20f));
  far = fma(far, t, T(-0x1.4d17fcp-16f));
  far = fma(far, t, T(0x1.21a8cap-15f));
  far = fma(far, t, T(0x1.bb22c2p-15f));
  far = fma(far, t, T(-0x1.64e9fap-12f));
  far = fma(far, t, T(0x1.384752p-11f));
  far = fma(far, t, T(0x1.0744b0p-13f));
  far = fma(far, t, T(-0x1.984786p-9f));
  far = fma(far, t, T(0x1.11c2c2p-7f));
  far = fma(far, t, T(-0x1.ae2b0ep-7f));
  far = fma(far, t, T(0x1.c1b4c2p-7f));
  far = fma(far, t, T(-0x1.37a12ap-7f));
  far = fma(far, t, T(0x1.066904p-8f));
  far = fma(far, t, T(0x1.ff9972p-1f));

  return from_bits(bits(select(a < T(1.0f), near, far)) | sign);
}

}  // namespace tokitai

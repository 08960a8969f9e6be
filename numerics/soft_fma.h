// fma without an fma instruction: a * b + c for binary32, rounded once, all of IEEE-754's special cases.
// Why doubles: the product of two floats is exact in a double, and a double rounded to odd keeps enough of an
// inexact sum (53 >= 24 + 2 bits) for the conversion to float to round as if it saw the exact value.
#pragma once
#include <bit>
#include <cstdint>

#ifndef TK_FN  // base.h defines it before it includes this file
#define TK_FN inline __attribute__((always_inline))
#endif

namespace tokitai {

TK_FN float soft_fma(float a, float b, float c) {
  double product = static_cast<double>(a) * static_cast<double>(b);  // exact: 48 bits, never below 2^-298
  double addend = static_cast<double>(c);
  double sum = product + addend;
  // TwoSum: sum + error is the exact value (NaN where sum is infinite or NaN).
  double from_addend = sum - product;
  double error = (product - (sum - from_addend)) + (addend - from_addend);
  // Positive where the exact value is farther from zero than sum, negative where it is nearer, zero where sum
  // is exact, NaN where there is nothing to fix. It cannot underflow: an error other than zero is a multiple
  // of 2^-298 and its sum is at least 2^52 times as large.
  double direction = error * sum;
  // Round to odd: an inexact even sum becomes its odd neighbour on the side of the exact value. Stepping back
  // one bit and then setting the last one leaves an odd sum as it is, which is what rounding to odd asks.
  std::uint64_t toward_zero = direction < 0.0;
  std::uint64_t inexact = toward_zero | static_cast<std::uint64_t>(direction > 0.0);
  std::uint64_t odd = (std::bit_cast<std::uint64_t>(sum) - toward_zero) | inexact;
  return static_cast<float>(std::bit_cast<double>(odd));
}

}  // namespace tokitai

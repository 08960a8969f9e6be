// Non-negative binary64 numbers rounded upward: what a bound on an error is made of. The nearest double is stepped to
// its upper neighbour, which is at least the exact result whatever the rounding was; zero stays zero where it is exact.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tokitai::analysis {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// The upper neighbour of x >= 0; whatever is not a finite number becomes infinity.
inline double next_up(double x) {
  if (!(x < kUnbounded)) return kUnbounded;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) + 1);
}
inline double next_down(double x) { return x > 0 ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) - 1) : 0; }

inline double add_up(double a, double b) {
  if (a == 0) return b;
  if (b == 0) return a;
  return next_up(a + b);
}
inline double mul_up(double a, double b) { return a == 0 || b == 0 ? 0 : next_up(a * b); }
inline double div_up(double a, double b) { return a == 0 ? 0 : next_up(a / b); }
inline double sqrt_up(double a) { return a == 0 ? 0 : next_up(std::sqrt(a)); }
// a - b rounded downward, at least 0.
inline double sub_down(double a, double b) { return b == 0 ? a : next_down(a - b); }

// |x + y - rounded| for the binary32 number that x + y was rounded to, or 0. TwoSum leaves nothing out, and the first
// part of what it gives lies so close to `rounded` that their difference is exact.
inline double lost_up(double x, double y, double rounded) {
  const double sum = x + y;
  const double from_y = sum - x;
  const double rest = (x - (sum - from_y)) + (y - from_y);
  const double lost = (sum - rounded) + rest;
  return lost == 0 ? 0 : next_up(std::fabs(lost));
}

}  // namespace tokitai::analysis

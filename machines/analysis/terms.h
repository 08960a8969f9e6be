// The number type that tells cancellation: a value, in binary64, and the size of the largest term that was added on the
// way to it. Where a value is small beside that term, most of the term was subtracted away, and its rounding error was
// not. It sorts outputs into kinds and bounds nothing, so it is not rounded with care.
#pragma once
#include <algorithm>
#include <cmath>

#include "machines/analysis/decision.h"
#include "numerics/elementary.h"
#include "tokitai/call.h"

namespace tokitai::analysis {

class Terms {
 public:
  double value = 0, largest = 0;

  Terms() = default;
  Terms(float constant) : Terms(constant, std::fabs(constant)) {}  // NOLINT(google-explicit-constructor)
  Terms(double v, double l) : value(v), largest(std::max(std::fabs(v), l)) {}

  static Terms given(float datum) { return {datum}; }
  static Terms rounded_sum(std::int64_t units, Type) {  // an exact sum: nothing can be lost
    return {static_cast<double>(units) * 0x1p-24, 0.0};
  }

  const Terms& rounded(Type) const { return *this; }

  friend Terms operator-(const Terms& a) { return {-a.value, a.largest}; }
  friend Terms operator+(const Terms& a, const Terms& b) { return {a.value + b.value, std::max(a.largest, b.largest)}; }
  friend Terms operator-(const Terms& a, const Terms& b) { return a + (-b); }
  friend Terms operator*(const Terms& a, const Terms& b) {
    return {a.value * b.value, std::max(a.largest * std::fabs(b.value), std::fabs(a.value) * b.largest)};
  }
  friend Terms operator/(const Terms& a, const Terms& b) {
    const double quotient = a.value / b.value;
    return {quotient, std::max(a.largest / std::fabs(b.value), std::fabs(quotient) * b.lost())};
  }
  friend Terms fma(const Terms& a, const Terms& b, const Terms& c) { return a * b + c; }
  friend Terms sqrt(const Terms& a) { return {std::sqrt(a.value), std::sqrt(a.largest)}; }
  friend Terms exp(const Terms& a) { return {tokitai::exp(static_cast<float>(a.value)), 0.0}; }
  friend Terms exp_nonpositive(const Terms& a) { return exp(a); }
  // Near 1 a logarithm is what is left of its argument.
  friend Terms log(const Terms& a) { return {tokitai::log(static_cast<float>(a.value)), a.lost()}; }
  // Near 0 they are as their arguments are.
  friend Terms tanh(const Terms& a) {
    const double t = std::tanh(a.value);
    return {t, a.largest * (1 - t * t)};
  }
  friend Terms erf(const Terms& a) { return {std::erf(a.value), a.largest * std::exp(-a.value * a.value)}; }
  friend Terms maximum(const Terms& a, const Terms& b) { return a.value > b.value ? a : b; }
  friend Terms larger(const Terms& a, const Terms& b) { return maximum(a, b); }

  friend Decision operator<(const Terms& a, const Terms& b) { return {a.value < b.value, true}; }
  friend Decision operator>(const Terms& a, const Terms& b) { return b < a; }
  friend Decision operator<=(const Terms& a, const Terms& b) { return {a.value <= b.value, true}; }
  friend Decision operator>=(const Terms& a, const Terms& b) { return b <= a; }
  friend Decision operator==(const Terms& a, const Terms& b) { return {a.value == b.value, true}; }
  friend Decision operator!=(const Terms& a, const Terms& b) { return !(a == b); }
  friend Terms select(bool condition, const Terms& yes, const Terms& no) { return condition ? yes : no; }
  friend Terms select(Decision condition, const Terms& yes, const Terms& no) { return condition.computed ? yes : no; }

 private:
  double lost() const { return value == 0 ? 1 : largest / std::fabs(value); }
};

}  // namespace tokitai::analysis

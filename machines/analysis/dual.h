// The number type of the gradient check: an interval around a value and one around its derivative in a direction
// (forward-mode differentiation). A definition runs over it unchanged; the rules below are those of calculus.
#pragma once
#include "machines/analysis/interval.h"

namespace tokitai::analysis {

class Dual {
 public:
  Interval value, slope;

  Dual() = default;
  Dual(float constant) : value(constant) {}  // NOLINT(google-explicit-constructor): constants of a definition
  Dual(Interval v, Interval d) : value(std::move(v)), slope(std::move(d)) {}

  static Dual given(float datum) { return {Interval::given(datum), 0.0f}; }
  static Dual rounded_sum(std::int64_t units, Type stored) { return {Interval::rounded_sum(units, stored), 0.0f}; }

  friend Dual operator-(const Dual& a) { return {-a.value, -a.slope}; }
  friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    Interval quotient = a.value / b.value;
    Interval slope = (a.slope - quotient * b.slope) / b.value;
    return {std::move(quotient), std::move(slope)};
  }
  friend Dual fma(const Dual& a, const Dual& b, const Dual& c) { return a * b + c; }
  friend Dual sqrt(const Dual& a) {
    Interval root = sqrt(a.value);
    Interval slope = a.slope / (root + root);
    return {std::move(root), std::move(slope)};
  }
  friend Dual exp(const Dual& a) {
    Interval value = exp(a.value);
    Interval slope = value * a.slope;
    return {std::move(value), std::move(slope)};
  }
  friend Dual exp_nonpositive(const Dual& a) { return exp(a); }
  friend Dual log(const Dual& a) { return {log(a.value), a.slope / a.value}; }
  friend Dual tanh(const Dual& a) {
    Interval value = tanh(a.value);
    Interval slope = (Interval(1.0f) - value * value) * a.slope;
    return {std::move(value), std::move(slope)};
  }
  friend Dual erf(const Dual& a) { return {erf(a.value), erf_slope(a.value) * a.slope}; }
  // Where they tie or may tie, the slope may be either's.
  friend Dual maximum(const Dual& a, const Dual& b) {
    const Decision first = a.value > b.value, second = a.value < b.value;
    const bool apart = (first.certain && first.computed) || (second.certain && second.computed);
    return {maximum(a.value, b.value), apart ? select(first.computed, a.slope, b.slope) : hull(a.slope, b.slope)};
  }
  friend Dual larger(const Dual& a, const Dual& b) { return maximum(a, b); }

  friend Decision operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  friend Decision operator>(const Dual& a, const Dual& b) { return b < a; }
  friend Decision operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  friend Decision operator>=(const Dual& a, const Dual& b) { return b <= a; }
  friend Decision operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend Decision operator!=(const Dual& a, const Dual& b) { return !(a == b); }
  friend Dual select(bool condition, const Dual& yes, const Dual& no) { return condition ? yes : no; }
  friend Dual select(Decision condition, const Dual& yes, const Dual& no) {
    return {select(condition, yes.value, no.value), select(condition, yes.slope, no.slope)};
  }
};

}  // namespace tokitai::analysis

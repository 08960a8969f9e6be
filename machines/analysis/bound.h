// The number type of the bound machine: a binary32 value, the very one the reference computes, and a rigorous upper
// bound of its distance from the real number that the same formula gives in exact arithmetic (running error analysis).
// Each operation adds what its operands' errors can become and its own rounding error, which is computed and not
// assumed: the exact result of + - * fma is a sum of two doubles, a division's and a root's follows from the remainder.
// So an operation that happens to be exact adds nothing. exp, log, tanh and erf add the worst error measured over all
// inputs.
//
// Every bound is conditional on the real-number result existing (no division by zero, no root of a negative number);
// the exact machine says where it does. Infinity means that nothing is promised: a value overflowed, the data is not
// finite, or a divisor is not known to differ from zero.
#pragma once
#include <algorithm>

#include "machines/analysis/decision.h"
#include "machines/analysis/upward.h"
#include "numerics/elementary.h"
#include "numerics/half.h"
#include "tokitai/call.h"

namespace tokitai::analysis {

class Bound {
 public:
  float value = 0;
  double error = 0;

  Bound() = default;
  Bound(float constant) : value(constant) {}  // NOLINT(google-explicit-constructor): constants of a definition
  Bound(float v, double e) : value(v), error(std::isfinite(v) && e < kUnbounded ? e : kUnbounded) {}

  // A datum: exact, unless it is no number.
  static Bound given(float datum) { return {datum, 0.0}; }
  // An exact sum in units of 2^-24, rounded once to the type it is stored in.
  static Bound rounded_sum(std::int64_t units, Type stored);

  // What the operands' errors can change of an exact product.
  static double product_error(const Bound& a, const Bound& b) {
    return add_up(add_up(mul_up(std::fabs(a.value), b.error), mul_up(std::fabs(b.value), a.error)),
                  mul_up(a.error, b.error));
  }

  // Rounded to a type in the middle of a formula: the distance is one more error.
  Bound rounded(Type type) const {
    const float v = type == Type::f16    ? widen_f16(narrow_f16(value))
                    : type == Type::bf16 ? widen_bf16(narrow_bf16(value))
                                         : value;
    return {v, add_up(error, std::fabs(static_cast<double>(v) - static_cast<double>(value)))};
  }

  friend Bound operator-(const Bound& a) { return {-a.value, a.error}; }
  friend Bound operator+(const Bound& a, const Bound& b) {
    const float v = a.value + b.value;
    return {v, add_up(lost_up(a.value, b.value, v), add_up(a.error, b.error))};
  }
  friend Bound operator-(const Bound& a, const Bound& b) { return a + (-b); }
  friend Bound operator*(const Bound& a, const Bound& b) {
    const float v = a.value * b.value;
    const double exact = static_cast<double>(a.value) * static_cast<double>(b.value);
    return {v, add_up(std::fabs(exact - v), product_error(a, b))};  // the difference is exact: 48 bits
  }
  friend Bound fma(const Bound& a, const Bound& b, const Bound& c) {
    const float v = tokitai::fma(a.value, b.value, c.value);
    const double exact = static_cast<double>(a.value) * static_cast<double>(b.value);
    return {v, add_up(lost_up(exact, c.value, v), add_up(product_error(a, b), c.error))};
  }
  // x/y - a/b = ((x-a) - (a/b)(y-b)) / y.
  friend Bound operator/(const Bound& a, const Bound& b) {
    const float v = a.value / b.value;
    const double divisor = std::fabs(b.value);
    if (!(b.error < divisor) || !std::isfinite(v)) return {v, kUnbounded};
    const double exact = static_cast<double>(v) * static_cast<double>(b.value);
    const double rounding = div_up(lost_up(a.value, -exact, 0.0), divisor);
    const double quotient = add_up(std::fabs(v), rounding);
    const double carried = div_up(add_up(a.error, mul_up(quotient, b.error)), sub_down(divisor, b.error));
    return {v, add_up(rounding, carried)};
  }
  friend Bound sqrt(const Bound& a) {
    const float v = tokitai::sqrt(a.value);
    if (!(a.value >= 0) || !std::isfinite(v)) return {v, kUnbounded};
    // |sqrt x - sqrt a| <= sqrt|x - a|, and |x - a| / (sqrt x + sqrt a). v is within 2^-24 of sqrt a.
    double carried = sqrt_up(a.error), rounding = 0;
    if (v > 0) {
      const double root = static_cast<double>(v) * (1 - 0x1p-24);
      rounding = div_up(lost_up(static_cast<double>(v) * static_cast<double>(v), -a.value, 0.0), v + root);
      const double lower = next_down(std::sqrt(sub_down(a.value, std::min<double>(a.error, a.value))));
      carried = std::min(carried, div_up(a.error, next_down(root + lower)));
    }
    return {v, add_up(rounding, carried)};
  }
  friend Bound exp_nonpositive(const Bound& a) { return exponential(a, tokitai::exp_nonpositive(a.value)); }
  friend Bound exp(const Bound& a) { return exponential(a, tokitai::exp(a.value)); }
  // log x - log a <= (x-a) / min(x, a).
  friend Bound log(const Bound& a) {
    const float v = tokitai::log(a.value);
    if (!(a.error < a.value)) return {v, kUnbounded};
    const double rounding = a.value == 1.0f ? 0 : mul_up(kLogUlp, unit_above(v));
    return {v, add_up(rounding, div_up(a.error, sub_down(a.value, a.error)))};
  }

  // Where the argument's error ends it may be nearer to zero, where both functions are steepest; neither leaves [-1,
  // 1].
  friend Bound tanh(const Bound& a) {  // its slope 1/cosh^2 is below 4 e^(-2|x|), and 1
    const double nearest = a.nearest_to_zero();
    return sigmoidal(a, tokitai::tanh(a.value), kTanhUlp, std::min(1.0, 4 * exponential_up(-2 * nearest)));
  }
  friend Bound erf(const Bound& a) {  // 2/sqrt(pi) e^(-x^2)
    const double nearest = a.nearest_to_zero();
    return sigmoidal(a, tokitai::erf(a.value), kErfUlp,
                     0x1.20dd76p+0 * std::min(1.0, exponential_up(-nearest * nearest)));
  }

  // The larger of two reals is no farther from the larger of two values than the worse of them.
  friend Bound maximum(const Bound& a, const Bound& b) {
    return {tokitai::maximum(a.value, b.value), std::max(a.error, b.error), Identity{}};
  }
  friend Bound larger(const Bound& a, const Bound& b) { return maximum(a, b); }

  friend Decision operator<(const Bound& a, const Bound& b) { return {a.value < b.value, apart(a, b)}; }
  friend Decision operator>(const Bound& a, const Bound& b) { return b < a; }
  friend Decision operator<=(const Bound& a, const Bound& b) { return {a.value <= b.value, apart(a, b)}; }
  friend Decision operator>=(const Bound& a, const Bound& b) { return b <= a; }
  friend Decision operator==(const Bound& a, const Bound& b) { return {a.value == b.value, apart(a, b)}; }
  friend Decision operator!=(const Bound& a, const Bound& b) { return !(a == b); }
  friend Bound select(bool condition, const Bound& yes, const Bound& no) { return condition ? yes : no; }
  // Where the real numbers may decide otherwise, the bound reaches the other branch too.
  friend Bound select(Decision condition, const Bound& yes, const Bound& no) {
    const Bound &taken = condition.computed ? yes : no, &other = condition.computed ? no : yes;
    if (condition.certain) return taken;
    const double between = lost_up(taken.value, -static_cast<double>(other.value), 0.0);
    return {taken.value, std::max(taken.error, add_up(between, other.error))};
  }

 private:
  struct Identity {};
  Bound(float v, double e, Identity) : value(v), error(e) {}  // a maximum starts from -infinity, exactly

  // docs/numerics.md, the last digit rounded up.
  static constexpr double kExpUlp = 0.8915, kLogUlp = 0.8242, kTanhUlp = 0.9209, kErfUlp = 0.8185;

  // The unit in the last place of the float one step away from zero: at least that of any real whose computed value
  // is v and less than a unit off.
  static double unit_above(float v) {
    const float magnitude = std::fabs(v);
    const float above = from_bits(bits(magnitude) + 1);
    return static_cast<double>(from_bits(bits(above) + 1)) - static_cast<double>(above);
  }
  static Bound exponential(const Bound& a, float v);
  // Of the reals that the error allows, none is nearer to zero.
  double nearest_to_zero() const { return error < std::fabs(value) ? sub_down(std::fabs(value), error) : 0; }
  // A power of two that is no less than e^x, for x <= 0.
  static double exponential_up(double x) {
    return std::ldexp(1.0, static_cast<int>(std::ceil(std::max(x, -200.0) * 0x1.71547652b82fcp+0)));
  }
  // An odd function from [-1, 1] that ascends no faster than `slope` between the real argument and the computed one.
  static Bound sigmoidal(const Bound& a, float v, double ulps, double slope) {
    if (a.error == kUnbounded) return {v, kUnbounded};
    const double rounding = a.value == 0 ? 0 : mul_up(ulps, unit_above(v));
    const double farthest = add_up(std::fabs(v), 1);
    return {v, std::min(add_up(rounding, mul_up(slope, a.error)), farthest)};
  }
  // Whether the real numbers must compare as the values do.
  static bool apart(const Bound& a, const Bound& b) {
    const double errors = add_up(a.error, b.error);
    return errors == 0 ||
           errors < std::fabs(static_cast<double>(a.value) - static_cast<double>(b.value)) * (1 - 0x1p-52);
  }
};

inline Bound Bound::exponential(const Bound& a, float v) {
  const double rounding = a.value == 0 ? 0 : mul_up(kExpUlp, unit_above(v));  // e^0 is 1
  const double most = add_up(std::fabs(v), rounding);
  // e^d - 1 <= d + d^2 for d <= 1.
  const double carried = a.error <= 1 ? mul_up(most, add_up(a.error, mul_up(a.error, a.error))) : kUnbounded;
  // Where the argument is hardly known or the result underflows: the real exponential lies between 0 and e^top, which
  // is below 2^(top log2 e). No bound is below 2^-287: what is made of it stays in the range of a double.
  const double sum = static_cast<double>(a.value) + a.error;
  const double top = sum + std::fabs(sum) * 0x1p-51;
  double limit = kUnbounded;
  if (top < 700)
    limit = std::ldexp(1.0, static_cast<int>(std::floor(std::max(top, -200.0) * 0x1.71547652b82fep+0)) + 2);
  return {v, std::min(add_up(rounding, carried), std::max<double>(v, limit))};
}

inline Bound Bound::rounded_sum(std::int64_t units, Type stored) {
  if (stored == Type::f16) {
    constexpr std::int64_t kInfinite = std::int64_t{1} << 48;  // far beyond 65504; exact in a double
    const double sum = static_cast<double>(std::clamp(units, -kInfinite, kInfinite)) * 0x1p-24;
    const float v = widen_f16(narrow_f16_from_double(sum));
    return {v, std::fabs(sum - v)};
  }
  const float v = static_cast<float>(units) * 0x1p-24f;
  const auto kept = static_cast<__int128>(static_cast<double>(v) * 0x1p24);
  const auto lost = static_cast<double>(kept > units ? kept - units : units - kept);
  return {v, lost == 0 ? 0 : next_up(lost) * 0x1p-24};
}

}  // namespace tokitai::analysis

// The number type of the exact machine: an interval that encloses the real number (MPFI over MPFR, every operation
// rounded outward). 320 bits hold any sum of 2^40 binary32 numbers, and any sum of products of f16 or bf16 numbers of
// moderate range, without rounding; what has to be rounded is off by 2^-320 of itself. Where that is too much beside a
// derived bound, a definition is run again with more bits.
// Data that is not finite, a divisor that may be zero and the root or logarithm of what may be negative have no
// real-number answer: the interval is then NaN, and so is all that is made of it.
#pragma once
#include <mpfi.h>

#include <utility>

#include "machines/analysis/decision.h"
#include "tokitai/call.h"

namespace tokitai::analysis {

class Interval {
 public:
  static constexpr mpfr_prec_t kBits = 320;
  // A bound is a double, so none but zero is below 2^-1074, and where it is finite every number on the way is below
  // 2^128. Between the two lie 1202 bits, and these have as many to spare as 320 have in the ordinary case.
  static constexpr mpfr_prec_t kMoreBits = 1536;

  // While it lives, intervals made by this thread have more bits.
  class MoreBits {
   public:
    MoreBits() { bits_ = kMoreBits; }
    ~MoreBits() { bits_ = kBits; }
    MoreBits(const MoreBits&) = delete;
    MoreBits& operator=(const MoreBits&) = delete;
  };

  Interval() : Interval(0.0f) {}
  Interval(float constant);  // NOLINT(google-explicit-constructor): constants of a definition
  Interval(const Interval& other);
  Interval(Interval&& other) noexcept : value_{*other.value_}, owned_(std::exchange(other.owned_, false)) {}
  Interval& operator=(const Interval& other);
  Interval& operator=(Interval&& other) noexcept;
  ~Interval();

  static Interval given(float datum);
  static Interval of(double point);
  // An integer times 2^exponent: a sum that was made exactly.
  static Interval scaled(__int128 units, int exponent);
  static Interval rounded_sum(std::int64_t units, Type) { return scaled(units, -24); }

  // The real-number result knows no rounding.
  const Interval& rounded(Type) const { return *this; }

  bool is_real() const;  // finite at both ends
  mpfr_srcptr lower() const { return &value_->left; }
  mpfr_srcptr upper() const { return &value_->right; }
  double width() const;    // rounded up
  double largest() const;  // of its magnitudes, rounded up
  bool meets(const Interval& other) const;

  friend Interval operator-(const Interval& a);
  friend Interval operator+(const Interval& a, const Interval& b);
  friend Interval operator-(const Interval& a, const Interval& b);
  friend Interval operator*(const Interval& a, const Interval& b);
  friend Interval operator/(const Interval& a, const Interval& b);
  friend Interval fma(const Interval& a, const Interval& b, const Interval& c) { return a * b + c; }
  friend Interval sqrt(const Interval& a);
  friend Interval exp(const Interval& a);
  friend Interval exp_nonpositive(const Interval& a) { return exp(a); }
  friend Interval log(const Interval& a);
  friend Interval tanh(const Interval& a);
  friend Interval erf(const Interval& a);
  friend Interval erf_slope(const Interval& a);  // 2/sqrt(pi) exp(-a^2)
  friend Interval maximum(const Interval& a, const Interval& b);
  friend Interval larger(const Interval& a, const Interval& b) { return maximum(a, b); }
  // The smallest interval around both.
  friend Interval hull(const Interval& a, const Interval& b);

  friend Decision operator<(const Interval& a, const Interval& b);
  friend Decision operator>(const Interval& a, const Interval& b) { return b < a; }
  friend Decision operator<=(const Interval& a, const Interval& b) { return !(b < a); }
  friend Decision operator>=(const Interval& a, const Interval& b) { return !(a < b); }
  friend Decision operator==(const Interval& a, const Interval& b);
  friend Decision operator!=(const Interval& a, const Interval& b) { return !(a == b); }
  friend Interval select(bool condition, const Interval& yes, const Interval& no) { return condition ? yes : no; }
  friend Interval select(Decision condition, const Interval& yes, const Interval& no) {
    return condition.certain ? select(condition.computed, yes, no) : hull(yes, no);
  }

 private:
  struct Empty {};
  explicit Interval(Empty) { mpfi_init2(value_, bits_); }
  static Interval not_real();

  static thread_local mpfr_prec_t bits_;
  mpfi_t value_;
  bool owned_ = true;  // false: moved from
};

}  // namespace tokitai::analysis

#include "machines/analysis/interval.h"

#include <cmath>

namespace tokitai::analysis {
namespace {

// MPFR keeps constants for exp and log, for each thread its own; they are given back when the thread ends.
struct KeptConstants {
  ~KeptConstants() { mpfr_free_cache(); }
};
void keep_constants() { static thread_local const KeptConstants constants{}; }

}  // namespace

thread_local mpfr_prec_t Interval::bits_ = kBits;

Interval::Interval(float constant) : Interval(Empty{}) { mpfi_set_d(value_, static_cast<double>(constant)); }
Interval::Interval(const Interval& other) : Interval(Empty{}) { mpfi_set(value_, other.value_); }
Interval& Interval::operator=(const Interval& other) { return *this = Interval(other); }
Interval& Interval::operator=(Interval&& other) noexcept {
  std::swap(*value_, *other.value_);
  std::swap(owned_, other.owned_);
  return *this;
}
Interval::~Interval() {
  if (owned_) mpfi_clear(value_);
}

Interval Interval::not_real() {
  Interval result(Empty{});  // MPFR's numbers begin as NaN
  return result;
}
Interval Interval::given(float datum) { return std::isfinite(datum) ? Interval(datum) : not_real(); }
Interval Interval::of(double point) {
  Interval result(Empty{});
  mpfi_set_d(result.value_, point);
  return result;
}
Interval Interval::scaled(__int128 units, int exponent) {
  const bool negative = units < 0;
  const auto magnitude = negative ? -static_cast<unsigned __int128>(units) : static_cast<unsigned __int128>(units);
  Interval result(Empty{});
  mpfi_set_ui(result.value_, static_cast<unsigned long>(magnitude >> 64));
  mpfi_mul_2si(result.value_, result.value_, 64);
  mpfi_add_ui(result.value_, result.value_, static_cast<unsigned long>(magnitude));
  if (negative) mpfi_neg(result.value_, result.value_);
  mpfi_mul_2si(result.value_, result.value_, exponent);
  return result;
}

bool Interval::is_real() const { return mpfr_number_p(lower()) != 0 && mpfr_number_p(upper()) != 0; }
double Interval::width() const {
  mpfr_t width;
  mpfr_init2(width, kBits);
  mpfr_sub(width, upper(), lower(), MPFR_RNDU);
  const double up = mpfr_get_d(width, MPFR_RNDU);
  mpfr_clear(width);
  return up;
}
double Interval::largest() const {
  return std::fmax(std::fabs(mpfr_get_d(lower(), MPFR_RNDA)), std::fabs(mpfr_get_d(upper(), MPFR_RNDA)));
}
bool Interval::meets(const Interval& other) const {
  return mpfr_lessequal_p(lower(), other.upper()) != 0 && mpfr_lessequal_p(other.lower(), upper()) != 0;
}

Interval operator-(const Interval& a) {
  Interval result(Interval::Empty{});
  mpfi_neg(result.value_, a.value_);
  return result;
}
Interval operator+(const Interval& a, const Interval& b) {
  Interval result(Interval::Empty{});
  mpfi_add(result.value_, a.value_, b.value_);
  return result;
}
Interval operator-(const Interval& a, const Interval& b) {
  Interval result(Interval::Empty{});
  mpfi_sub(result.value_, a.value_, b.value_);
  return result;
}
Interval operator*(const Interval& a, const Interval& b) {
  Interval result(Interval::Empty{});
  mpfi_mul(result.value_, a.value_, b.value_);
  return result;
}
Interval operator/(const Interval& a, const Interval& b) {
  if (!b.is_real() || mpfi_has_zero(b.value_) > 0) return Interval::not_real();
  Interval result(Interval::Empty{});
  mpfi_div(result.value_, a.value_, b.value_);
  return result;
}
Interval sqrt(const Interval& a) {
  Interval result(Interval::Empty{});
  mpfi_sqrt(result.value_, a.value_);  // NaN where a reaches below zero
  return result;
}
Interval exp(const Interval& a) {
  keep_constants();
  Interval result(Interval::Empty{});
  mpfi_exp(result.value_, a.value_);
  return result;
}
Interval log(const Interval& a) {
  if (!a.is_real() || mpfr_sgn(a.lower()) <= 0) return Interval::not_real();
  keep_constants();
  Interval result(Interval::Empty{});
  mpfi_log(result.value_, a.value_);
  return result;
}
Interval tanh(const Interval& a) {
  keep_constants();
  Interval result(Interval::Empty{});
  mpfi_tanh(result.value_, a.value_);
  return result;
}
Interval erf(const Interval& a) {  // MPFI has none; it ascends
  if (!a.is_real()) return Interval::not_real();
  keep_constants();
  Interval result(Interval::Empty{});
  mpfr_erf(&result.value_->left, a.lower(), MPFR_RNDD);
  mpfr_erf(&result.value_->right, a.upper(), MPFR_RNDU);
  return result;
}
Interval erf_slope(const Interval& a) {
  Interval square(Interval::Empty{}), pi(Interval::Empty{});
  mpfi_sqr(square.value_, a.value_);
  mpfi_const_pi(pi.value_);
  return Interval(2.0f) / sqrt(pi) * exp(-square);
}
Interval maximum(const Interval& a, const Interval& b) {
  if (mpfi_nan_p(a.value_) != 0 || mpfi_nan_p(b.value_) != 0) return Interval::not_real();
  Interval result(Interval::Empty{});
  mpfi_interv_fr(result.value_, mpfr_greater_p(a.lower(), b.lower()) != 0 ? a.lower() : b.lower(),
                 mpfr_greater_p(a.upper(), b.upper()) != 0 ? a.upper() : b.upper());
  return result;
}
Interval hull(const Interval& a, const Interval& b) {
  Interval result(Interval::Empty{});
  mpfi_union(result.value_, a.value_, b.value_);
  return result;
}

Decision operator<(const Interval& a, const Interval& b) {
  const bool surely = mpfr_less_p(a.upper(), b.lower()) != 0;
  return {surely, surely || mpfr_greaterequal_p(a.lower(), b.upper()) != 0};
}
Decision operator==(const Interval& a, const Interval& b) {
  const bool surely = mpfr_equal_p(a.lower(), a.upper()) != 0 && mpfr_equal_p(b.lower(), b.upper()) != 0 &&
                      mpfr_equal_p(a.lower(), b.lower()) != 0;
  return {surely, surely || !a.meets(b)};
}

}  // namespace tokitai::analysis

#include "machines/analysis/ulp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/half.h"

namespace tokitai::evidence {
namespace {

struct Format {
  int bits, smallest_exponent;
};
Format format_of(Type type) {
  switch (type) {
    case Type::f16: return {11, -14};
    case Type::bf16: return {8, -126};
    default: return {24, -126};
  }
}

// |stored - end| rounded up.
double apart(double stored, mpfr_srcptr end) {
  mpfr_t difference;
  mpfr_init2(difference, analysis::Interval::kBits);
  mpfr_d_sub(difference, stored, end, MPFR_RNDA);
  mpfr_abs(difference, difference, MPFR_RNDU);
  const double up = mpfr_get_d(difference, MPFR_RNDU);
  mpfr_clear(difference);
  return up;
}

// The exponent e of 2^e <= |x| < 2^(e+1), or that of the smallest normal number where x is below it.
int exponent_of(mpfr_srcptr x, int smallest) {
  if (mpfr_zero_p(x) != 0) return smallest;
  return static_cast<int>(std::max<mpfr_exp_t>(mpfr_get_exp(x) - 1, smallest));
}

}  // namespace

Distance distance(double stored, const analysis::Interval& exact, Type type) {
  const Format format = format_of(type);
  const bool around_zero = mpfr_sgn(exact.lower()) * mpfr_sgn(exact.upper()) < 0;
  const int exponent = around_zero ? format.smallest_exponent
                                   : std::min(exponent_of(exact.lower(), format.smallest_exponent),
                                              exponent_of(exact.upper(), format.smallest_exponent));
  Distance d;
  d.unit = std::ldexp(1.0, exponent - format.bits + 1);
  d.length = std::isfinite(stored) ? std::max(apart(stored, exact.lower()), apart(stored, exact.upper()))
                                   : std::numeric_limits<double>::infinity();
  d.ulp = d.length / d.unit;
  return d;
}

double stored_value(float value, Type type) {
  switch (type) {
    case Type::f16: return widen_f16(narrow_f16(value));
    case Type::bf16: return widen_bf16(narrow_bf16(value));
    default: return value;
  }
}

}  // namespace tokitai::evidence

// The analysis machines' kernels. Intervals are MPFI's, which the library has and the user's machine need not.
#pragma once
#include "loader/part.h"
#include "machines/analysis/instantiate.h"
#include "machines/analysis/interval_words.h"

namespace tokitai::analysis {

namespace {
const IntervalWords& the() { return *static_cast<const IntervalWords*>(loader::words->intervals); }
}  // namespace

Interval::Interval(float constant) { the().from_float(this, constant); }
Interval::Interval(const Interval& other) { the().copy(this, other); }
Interval& Interval::operator=(const Interval& other) { return the().assign(*this, other), *this; }
Interval& Interval::operator=(Interval&& other) noexcept { return the().move(*this, other), *this; }
Interval::~Interval() { the().end(*this); }
Interval Interval::given(float datum) { return the().given(datum); }
Interval Interval::of(double point) { return the().of(point); }
Interval Interval::scaled(__int128 units, int exponent) { return the().scaled(units, exponent); }
Interval operator-(const Interval& a) { return the().negative(a); }
Interval operator+(const Interval& a, const Interval& b) { return the().sum(a, b); }
Interval operator-(const Interval& a, const Interval& b) { return the().difference(a, b); }
Interval operator*(const Interval& a, const Interval& b) { return the().product(a, b); }
Interval operator/(const Interval& a, const Interval& b) { return the().quotient(a, b); }
Interval sqrt(const Interval& a) { return the().sqrt(a); }
Interval exp(const Interval& a) { return the().exp(a); }
Interval log(const Interval& a) { return the().log(a); }
Interval tanh(const Interval& a) { return the().tanh(a); }
Interval erf(const Interval& a) { return the().erf(a); }
Interval erf_slope(const Interval& a) { return the().erf_slope(a); }
Interval maximum(const Interval& a, const Interval& b) { return the().maximum(a, b); }
Interval hull(const Interval& a, const Interval& b) { return the().hull(a, b); }
Decision operator<(const Interval& a, const Interval& b) { return the().less(a, b); }
Decision operator==(const Interval& a, const Interval& b) { return the().equal(a, b); }

}  // namespace tokitai::analysis

namespace tokitai::loader {
template <class D> Entry entry() {
  static const analysis::Kernels kernels = analysis::kernels_of<D>();
  return {D::name, nullptr, nullptr, nullptr, &kernels};
}
}  // namespace tokitai::loader

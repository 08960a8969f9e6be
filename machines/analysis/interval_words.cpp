#include "machines/analysis/interval_words.h"

#include <new>

namespace tokitai::analysis {

// As loader/freestanding/mpfi.h has them.
static_assert(sizeof(mpfi_t) == 64 && alignof(mpfi_t) == 8 && sizeof(mpfr_prec_t) == 8);

const IntervalWords kIntervalWords{
    .from_float = [](void* at, float constant) { ::new (at) Interval(constant); },
    .copy = [](void* at, const Interval& other) { ::new (at) Interval(other); },
    .assign = [](Interval& to, const Interval& from) { to = from; },
    .move = [](Interval& to, Interval& from) { to = std::move(from); },
    .end = [](Interval& one) { one.~Interval(); },
    .given = &Interval::given,
    .of = &Interval::of,
    .scaled = &Interval::scaled,
    .negative = [](const Interval& a) { return -a; },
    .sum = [](const Interval& a, const Interval& b) { return a + b; },
    .difference = [](const Interval& a, const Interval& b) { return a - b; },
    .product = [](const Interval& a, const Interval& b) { return a * b; },
    .quotient = [](const Interval& a, const Interval& b) { return a / b; },
    .sqrt = [](const Interval& a) { return sqrt(a); },
    .exp = [](const Interval& a) { return exp(a); },
    .log = [](const Interval& a) { return log(a); },
    .tanh = [](const Interval& a) { return tanh(a); },
    .erf = [](const Interval& a) { return erf(a); },
    .erf_slope = [](const Interval& a) { return erf_slope(a); },
    .maximum = [](const Interval& a, const Interval& b) { return maximum(a, b); },
    .hull = [](const Interval& a, const Interval& b) { return hull(a, b); },
    .less = [](const Interval& a, const Interval& b) { return a < b; },
    .equal = [](const Interval& a, const Interval& b) { return a == b; },
};

}  // namespace tokitai::analysis

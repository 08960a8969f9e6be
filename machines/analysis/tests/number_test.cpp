// The number types by themselves: intervals enclose, bounds cover whatever the operands' errors allow, dual numbers
// differentiate.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>

#include "machines/analysis/bound.h"
#include "machines/analysis/dual.h"
#include "machines/analysis/interval.h"
#include "machines/analysis/terms.h"
#include "numerics/philox.h"

namespace tokitai::analysis {
namespace {

constexpr Philox kRandom{.seed = 7, .stream = 0};

// Any finite float: every exponent alike, subnormals and zeros too.
float any_float(std::uint64_t i) {
  const float x = from_bits(kRandom.word(i));
  return std::isfinite(x) ? x : 0.0f;
}
// Numbers that meet: of similar size, with few or many bits.
float near_float(std::uint64_t i) {
  const std::uint32_t w = kRandom.word(i);
  const float x = std::ldexp(kRandom.normal(i + 1), static_cast<int>(w % 9) - 4);
  return w & 0x1000 ? std::nearbyint(x * 16) / 16 : x;
}

bool encloses(const Interval& i, double x) { return mpfr_cmp_d(i.lower(), x) <= 0 && mpfr_cmp_d(i.upper(), x) >= 0; }
// Every real in the interval is within `bound` of the value.
bool within(const Bound& b, const Interval& real) {
  if (b.error == kUnbounded) return true;
  const Interval reach = Interval::of(b.value) + Interval::of(b.error);
  const Interval floor = Interval::of(b.value) - Interval::of(b.error);
  return mpfr_lessequal_p(real.upper(), reach.upper()) != 0 && mpfr_greaterequal_p(real.lower(), floor.lower()) != 0;
}

TEST(Interval, EnclosesWhatIsNotANumberOfItsOwn) {
  const Interval third = Interval(1.0f) / 3.0f;
  EXPECT_LT(mpfr_cmp(third.lower(), third.upper()), 0);
  EXPECT_LT(third.width(), 1e-95);
  EXPECT_TRUE(encloses(third * 3.0f, 1.0));
  EXPECT_TRUE(encloses(log(exp(Interval(2.0f))), 2.0));
  EXPECT_TRUE(encloses(sqrt(Interval(2.0f)) * sqrt(Interval(2.0f)), 2.0));
  EXPECT_EQ((Interval(0.75f) + 0.25f).width(), 0.0);
  EXPECT_TRUE(encloses(maximum(third, Interval(0.25f)) * 3.0f, 1.0));
}
TEST(Interval, SaysWhereThereIsNoRealNumber) {
  EXPECT_FALSE((Interval(1.0f) / 0.0f).is_real());
  EXPECT_FALSE(sqrt(Interval(-1.0f)).is_real());
  EXPECT_FALSE(log(Interval(0.0f)).is_real());
  EXPECT_FALSE(Interval::given(kInfinity).is_real());
  EXPECT_FALSE((Interval::given(from_bits(kCanonicalNan)) + 1.0f).is_real());
  EXPECT_FALSE(maximum(Interval::given(from_bits(kCanonicalNan)), Interval(1.0f)).is_real());
  EXPECT_TRUE(maximum(Interval(-kInfinity), Interval(1.0f)).is_real());  // where a maximum starts from
}
TEST(Interval, OverlappingComparisonsSelectTheHull) {
  const Interval wide = hull(Interval(1.0f), Interval(3.0f));
  EXPECT_TRUE((wide < Interval(4.0f)).certain);
  EXPECT_FALSE((wide < Interval(2.0f)).certain);
  EXPECT_FALSE((wide == Interval(2.0f)).certain);
  const Interval chosen = select(wide < Interval(2.0f), Interval(10.0f), Interval(20.0f));
  EXPECT_TRUE(encloses(chosen, 10.0) && encloses(chosen, 20.0));
  EXPECT_TRUE(encloses(select(wide < Interval(4.0f), Interval(10.0f), Interval(20.0f)), 10.0));
}
TEST(Interval, HoldsIntegersOf128Bits) {
  const __int128 big = (static_cast<__int128>(1) << 100) + 1;
  const Interval power = Interval::of(0x1p100);
  EXPECT_TRUE(encloses(Interval::scaled(big, 0) - power, 1.0));
  EXPECT_EQ((Interval::scaled(big, 0) - power).width(), 0.0);
  EXPECT_TRUE(encloses(Interval::scaled(-3, -48), -3 * 0x1p-48));
}

// One operation of two or three operands on both machines.
struct Operation {
  const char* name;
  std::function<Bound(const Bound*)> bound;
  std::function<Interval(const Interval*)> exact;
};
#define TK_OPERATION(expression)                                                                         \
  Operation {                                                                                            \
    #expression, [](const Bound* x) { return expression; }, [](const Interval* x) { return expression; } \
  }
const Operation kOperations[] = {TK_OPERATION(x[0] + x[1]),
                                 TK_OPERATION(x[0] - x[1]),
                                 TK_OPERATION(x[0] * x[1]),
                                 TK_OPERATION(x[0] / x[1]),
                                 TK_OPERATION(fma(x[0], x[1], x[2])),
                                 TK_OPERATION(sqrt(x[0] * x[0] + x[1] * x[1])),
                                 TK_OPERATION(exp(x[0])),
                                 TK_OPERATION(exp_nonpositive(x[0] - maximum(x[0], x[1]))),
                                 TK_OPERATION(log(x[0] * x[0])),
                                 TK_OPERATION(tanh(x[0])),
                                 TK_OPERATION(erf(x[0] * 0.5f)),
                                 TK_OPERATION(maximum(x[0], x[1])),
                                 TK_OPERATION(select((x[0] <= x[1]) & !(x[2] >= x[0]), x[2], x[1])),
                                 TK_OPERATION(select((x[0] > 0.0f) | (x[1] < x[2]), x[0], -x[2])),
                                 TK_OPERATION(select(x[0] < x[1], x[2], -x[2])),
                                 TK_OPERATION(-(x[0] - x[1]) * x[2])};
#undef TK_OPERATION

// Operands with errors: the real ones are drawn from the ends of what the bound allows, and from inside.
TEST(Bound, CoversEveryRealOperandItsErrorAllows) {
  for (const Operation& operation : kOperations)
    for (std::uint64_t trial = 0; trial < 20000; ++trial) {
      Bound bound[3];
      Interval real[3];
      for (std::uint64_t k = 0; k < 3; ++k) {
        const std::uint64_t i = 16 * (3 * trial + k);
        const float v = trial % 3 == 0 ? any_float(i) : near_float(i);
        const std::uint32_t w = kRandom.word(i + 2);
        const double error = trial % 2 == 0 ? 0 : std::ldexp(std::fabs(v), -static_cast<int>(w % 40));
        bound[k] = {v, error};
        constexpr double kPlaces[] = {-1, 1, 0, 0.37};
        real[k] = Interval::of(v) + Interval::of(error) * Interval::of(kPlaces[(w >> 8) % 4]);
      }
      const Interval exact = operation.exact(real);
      if (!exact.is_real()) continue;
      const Bound found = operation.bound(bound);
      ASSERT_TRUE(within(found, exact)) << fmt::format(
          "{} of {:a} ± {:a}, {:a} ± {:a}, {:a} ± {:a}: {:a} ± {:a} does not reach {:a}", operation.name,
          bound[0].value, bound[0].error, bound[1].value, bound[1].error, bound[2].value, bound[2].error, found.value,
          found.error, mpfr_get_d(exact.lower(), MPFR_RNDN));
    }
}
// Without errors in the operands a bound is the rounding error itself.
TEST(Bound, ASingleRoundingIsKnownExactly) {
  for (const Operation& operation : std::span(kOperations).first(5))
    for (std::uint64_t trial = 0; trial < 2000; ++trial) {
      Bound bound[3];
      Interval real[3];
      for (std::uint64_t k = 0; k < 3; ++k) {
        const float v = near_float(16 * (3 * trial + k));
        bound[k] = Bound::given(v);
        real[k] = Interval::given(v);
      }
      const Interval exact = operation.exact(real);
      if (!exact.is_real()) continue;
      const Bound found = operation.bound(bound);
      const double error = (exact - Interval::of(found.value)).largest();
      EXPECT_LE(found.error, error * (1 + 1e-12)) << operation.name;
    }
}
TEST(Bound, ExactOperationsAddNothing) {
  EXPECT_EQ((Bound(0.75f) + 0.25f).error, 0);
  EXPECT_EQ((Bound(3.0f) * 5.0f).error, 0);
  EXPECT_EQ((Bound(3.0f) / 4.0f).error, 0);
  EXPECT_EQ(sqrt(Bound(9.0f)).error, 0);
  EXPECT_EQ(fma(Bound(3.0f), Bound(5.0f), Bound(-15.0f)).error, 0);
  EXPECT_EQ(exp_nonpositive(Bound(0.0f)).error, 0);
  EXPECT_EQ(log(Bound(1.0f)).error, 0);
  EXPECT_EQ(Bound::rounded_sum(3, Type::f16).error, 0);
}
TEST(Bound, PromisesNothingBeyondTheRange) {
  EXPECT_EQ((Bound(0x1p127f) * 2.0f).error, kUnbounded);
  EXPECT_EQ((Bound(1.0f) / Bound(1.0f, 1.0)).error, kUnbounded);
  EXPECT_EQ((Bound(1.0f) / Bound::given(kInfinity)).error, kUnbounded);
  EXPECT_EQ(exp(Bound::given(-kInfinity)).error, kUnbounded);
  EXPECT_EQ(log(Bound(1.0f, 1.0)).error, kUnbounded);
  EXPECT_EQ(Bound::rounded_sum(std::int64_t{1} << 41, Type::f16).error, kUnbounded);
}
TEST(Bound, SumsOfF16AreRoundedOnce) {
  const Bound half = Bound::rounded_sum((std::int64_t{2049} << 24) + 1, Type::f16);
  EXPECT_EQ(half.value, 2050.0f);
  EXPECT_EQ(half.error, 1 - 0x1p-24);
  const Bound single = Bound::rounded_sum((std::int64_t{1} << 30) + 1, Type::f32);
  EXPECT_EQ(single.value, 64.0f);
  EXPECT_NEAR(single.error, 0x1p-24, 1e-20);
}

TEST(Dual, KnowsTheDerivativesOfTheTextbook) {
  const Dual x(Interval(0.5f), Interval(1.0f));
  EXPECT_TRUE(encloses((x * x).slope, 1.0));
  EXPECT_TRUE(encloses((Dual(1.0f) / x).slope, -4.0));
  EXPECT_TRUE(log(x).slope.meets(Interval(2.0f)));
  EXPECT_TRUE(exp(x).slope.meets(exp(Interval(0.5f))));
  EXPECT_TRUE(sqrt(x * x).slope.meets(Interval(1.0f)));
  EXPECT_TRUE(encloses(fma(x, Dual(3.0f), -x).slope, 2.0));
  EXPECT_TRUE(encloses(maximum(x, Dual(0.25f)).slope, 1.0));
  EXPECT_TRUE(encloses(maximum(x, Dual(0.75f)).slope, 0.0));
  const Interval tie = maximum(x, Dual(0.5f)).slope;
  EXPECT_TRUE(encloses(tie, 0.0) && encloses(tie, 1.0));
}

TEST(Terms, RemembersWhatWasSubtractedAway) {
  const Terms left = Terms(1000.0f) - Terms(999.0f);
  EXPECT_EQ(left.value, 1.0);
  EXPECT_EQ(left.largest, 1000.0);
  EXPECT_EQ((left * Terms(2.0f)).largest, 2000.0);
  EXPECT_EQ((Terms(1.0f) / left).largest, 1000.0);
}

}  // namespace
}  // namespace tokitai::analysis

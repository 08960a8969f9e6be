// exp, log, tanh and erf on all 2^32 inputs: error in units of the last place against the C library's double
// functions (good to 3e-8 of that unit), the worst arguments once more against MPFR. Built without an fma
// instruction it takes every 61st input only: soft_fma is several times slower.
#include "numerics/elementary.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "numerics/tests/all_floats.h"
#include "numerics/tests/counted.h"
#include "testing/thorough.h"

// The C library has vector forms of these (off by up to 4 units in the last place of a double); told so, the compiler
// takes them where a loop calls them unconditionally.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
extern "C" {
__attribute__((simd("notinbranch"))) double exp(double) noexcept;
__attribute__((simd("notinbranch"))) double log(double) noexcept;
__attribute__((simd("notinbranch"))) double tanh(double) noexcept;
__attribute__((simd("notinbranch"))) double erf(double) noexcept;
}
#endif

namespace tokitai {
namespace {

using testing::Counted;
using testing::kAllFloats;

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
const std::uint64_t kStride = testing::thorough() ? 1 : 61;
#else
const std::uint64_t kStride = 61;
#endif

constexpr double kWrong = std::numeric_limits<double>::infinity();

// The spacing of floats at y, from 2^-149 for subnormals up.
double unit_of_last_place(double y) {
  constexpr auto kPlace = [](int exponent) { return static_cast<std::int64_t>(exponent) << 52; };
  const std::int64_t exponent = std::bit_cast<std::int64_t>(y) & kPlace(2047), least = kPlace(1023 - 126);
  return std::bit_cast<double>((exponent < least ? least : exponent) - kPlace(23));
}

// The error of `actual`, and kWrong for what is no question of accuracy: NaN against a number, a number
// against infinity, a wrong sign. Infinity stands for 2^128, the float that would come next. Made of choices between
// values, so that a loop of it is vectorised.
double error(float actual, double exact) {
  const double y = actual, size = std::fabs(y);
  const double value = size == kWrong ? std::copysign(0x1p128, y) : y;
  const double off = std::fabs(value - exact) / unit_of_last_place(exact);
  const bool both_beyond = size == kWrong && std::fabs(exact) >= 0x1p128;
  const double number = both_beyond ? 0.0 : std::fabs(exact) == kWrong ? kWrong : off;
  const bool same_sign = (std::bit_cast<std::int64_t>(exact) ^ std::bit_cast<std::int64_t>(y)) >= 0;
  const double signed_number = same_sign ? number : kWrong;
  const double against_nan = exact != exact ? 0.0 : kWrong;
  return y != y ? against_nan : exact != exact ? kWrong : signed_number;
}

// Objects, so that a survey is compiled for each. Where the answer is plain, the plain answer, to far better than 1e-9
// of a unit; the function is then called with an argument that it is quick for.
constexpr auto exact_exp = [](double x) {
  const double y = ::exp(x > 100.0 ? 100.0 : x < -120.0 ? -120.0 : x);
  return x > 100.0 ? kWrong : x < -120.0 ? 0.0 : y;
};
constexpr auto exact_log = [](double x) {
  const double y = ::log(x > 0.0 && x < kWrong ? x : 1.0);
  return x > 0.0 && x < kWrong ? y : x == 0.0 ? -kWrong : x > 0.0 ? kWrong : std::nan("");
};
constexpr auto exact_tanh = [](double x) {
  const double size = std::fabs(x), y = ::tanh(size > 20.0 ? 20.0 : x);
  return size < 0x1p-20 ? x : size > 20.0 ? std::copysign(1.0, x) : y;
};
constexpr auto exact_erf = [](double x) {
  const double size = std::fabs(x), y = ::erf(size > 6.0 ? 6.0 : x);
  return size < 0x1p-20 ? x * 1.1283791670955126 : size > 6.0 ? std::copysign(1.0, x) : y;
};

struct Case {
  double error;
  float x;
};
struct Survey {
  std::vector<Case> worst;  // a heap with the smallest error on top
  std::uint64_t compared = 0;
  std::uint64_t wrong = 0;
  std::uint64_t descents = 0;  // neighbours where a nondecreasing function decreases
  float descent_at = 0;
  float wrong_at = 0;
};
bool larger(const Case& a, const Case& b) { return a.error > b.error; }

// `patterns` bounds the bit patterns: an odd function needs only the positive half, 2^31.
template <class F, class G>
Survey survey(F f, G exact, std::uint64_t stride = kStride, std::uint64_t patterns = kAllFloats) {
  auto visit = [&](std::uint64_t begin, std::uint64_t end, Survey& s) {
    constexpr std::uint32_t kBlock = 2048;
    float y[kBlock + 1];  // after the block before's last
    double truth[kBlock], errors[kBlock];
    y[0] = begin == 0 ? f(0.0f) : f(from_bits(static_cast<std::uint32_t>((begin - 1) * stride)));
    for (std::uint64_t base = begin; base < end; base += kBlock) {
      const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(kBlock, end - base));
      const auto first = static_cast<std::uint32_t>(base * stride), step = static_cast<std::uint32_t>(stride);
      auto x = [=](std::uint32_t i) { return from_bits(first + i * step); };
      // Fixed counts and no branches, so that they are vectorised.
      for (std::uint32_t i = 0; i < kBlock; ++i) y[i + 1] = f(x(i));
      for (std::uint32_t i = 0; i < kBlock; ++i) truth[i] = exact(static_cast<double>(x(i)));
      for (std::uint32_t i = 0; i < kBlock; ++i) errors[i] = error(y[i + 1], truth[i]);
      // The patterns of negative floats run from -0 down.
      auto descends = [&](std::uint32_t i) { return (x(i) > 0 && y[i + 1] < y[i]) || (x(i) < 0 && y[i + 1] > y[i]); };
      for (std::uint32_t i = 0; i < n; ++i) {
        if (errors[i] == kWrong) {
          if (s.wrong++ == 0) s.wrong_at = x(i);
        } else if (errors[i] >
                   (s.worst.size() < 500 ? 0.5 : s.worst.front().error)) {  // no perfect rounding is above 0.5
          if (s.worst.size() == 500) {
            std::pop_heap(s.worst.begin(), s.worst.end(), larger);
            s.worst.pop_back();
          }
          s.worst.push_back({errors[i], x(i)});
          std::push_heap(s.worst.begin(), s.worst.end(), larger);
        }
      }
      for (std::uint32_t i = 0; i < n; ++i)
        if (descends(i) && s.descents++ == 0) s.descent_at = x(i);
      y[0] = y[n];
      s.compared += n;
    }
  };
  Survey total;
  for (Survey& s : testing::over_ranges<Survey>(0, patterns / stride, visit)) {
    total.worst.insert(total.worst.end(), s.worst.begin(), s.worst.end());
    total.compared += s.compared;
    if (s.wrong) total.wrong_at = s.wrong_at;
    total.wrong += s.wrong;
    if (s.descents) total.descent_at = s.descent_at;
    total.descents += s.descents;
  }
  std::sort(total.worst.begin(), total.worst.end(), larger);
  return total;
}

using MpfrFunction = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);

// The same error from 120 bits; the result fits a double, whose last place is 2^-29 of a float's.
double mpfr_error(float y, float x, MpfrFunction function) {
  mpfr_t v;
  mpfr_init2(v, 120);
  mpfr_set_flt(v, x, MPFR_RNDN);
  function(v, v, MPFR_RNDN);
  double exact = mpfr_get_d(v, MPFR_RNDN);
  mpfr_clear(v);
  return error(y, exact);
}

// The ends, zero, every power of two with its neighbours, and NaN of both signs and kinds.
std::vector<float> special_arguments() {
  std::vector<float> all;
  for (std::uint32_t u = 0; u <= 0x7f800000u; u += 0x00800000u) {
    for (std::uint32_t v : {u - 1, u, u + 1}) all.push_back(from_bits(v & 0x7fffffffu));
  }
  for (float x : {0x1p-149f,      0x1p-148f,      0x1.62e42ep+6f, 0x1.62e430p+6f, 0x1.5d589ep+6f, 0x1.9fe368p+6f,
                  0x1.9fe36ap+6f, 0x1.9d1d9ep+6f, 0x1.9d1da0p+6f, 104.0f,         103.0f,         89.0f,
                  88.0f,          3.96875f,       3.9375f,        10.0f,          9.01f,          9.02f,
                  0.70710677f,    0.70710683f,    1.4142135f,     1.4142137f}) {
    all.push_back(x);
  }
  std::size_t half = all.size();
  for (std::size_t i = 0; i < half; ++i) all.push_back(-all[i]);
  return all;
}

// The figures in docs/numerics.md.
struct Claim {
  const char* name;
  double error;
  bool is_nondecreasing;
  bool is_odd;  // then TanhAndErfAreOddAndBounded answers for the negative half
};

template <class F, class G> void check(Claim claim, F f, G exact, MpfrFunction function) {
  std::uint64_t patterns = claim.is_odd ? kAllFloats / 2 : kAllFloats;
  Survey s = survey(f, exact, kStride, patterns);
  ASSERT_EQ(s.compared, patterns / kStride);
  EXPECT_EQ(s.wrong, 0u) << std::hexfloat << s.wrong_at;
  ASSERT_FALSE(s.worst.empty());
  double x_worst = s.worst[0].x;
  std::printf("%s: worst error %.5f ulp at %a (%.9g), over %llu inputs; %llu descents\n", claim.name, s.worst[0].error,
              x_worst, x_worst, static_cast<unsigned long long>(s.compared),
              static_cast<unsigned long long>(s.descents));
  EXPECT_LE(s.worst[0].error, claim.error);
  if (kStride == 1) {
    EXPECT_GT(s.worst[0].error, claim.error - 0.001) << "the documented figure is too large";
    EXPECT_EQ(s.descents == 0, claim.is_nondecreasing) << std::hexfloat << s.descent_at;
  }
  for (const Case& c : s.worst) {
    ASSERT_NEAR(mpfr_error(f(c.x), c.x, function), c.error, 1e-6) << std::hexfloat << c.x;
  }
  for (float x : special_arguments()) {
    EXPECT_LE(mpfr_error(f(x), x, function), claim.error) << std::hexfloat << x;
  }
}

TEST(Elementary, ExpIsWithinItsErrorOnEveryFloat) {
  check({"exp", 0.8914, false, false}, [](float x) { return exp(x); }, exact_exp, mpfr_exp);
}
TEST(Elementary, LogIsWithinItsErrorOnEveryFloat) {
  check({"log", 0.8241, true, false}, [](float x) { return log(x); }, exact_log, mpfr_log);
}
TEST(Elementary, TanhIsWithinItsErrorOnEveryFloat) {
  check({"tanh", 0.9208, true, true}, [](float x) { return tanh(x); }, exact_tanh, mpfr_tanh);
}
TEST(Elementary, ErfIsWithinItsErrorOnEveryFloat) {
  check({"erf", 0.8184, false, true}, [](float x) { return erf(x); }, exact_erf, mpfr_erf);
}

TEST(Elementary, ExpNonpositiveHasTheBitsOfExpUpTo44) {
  auto expected = [](std::uint32_t u) { return bits(canonical(exp(from_bits(u)))); };
  auto actual = [&](std::uint32_t u) {
    return from_bits(u) > 44.0f ? expected(u) : bits(canonical(exp_nonpositive(from_bits(u))));
  };
  auto m = testing::compare(actual, expected, kStride);
  EXPECT_EQ(m.compared, kAllFloats / kStride);
  EXPECT_EQ(m.count, 0u) << std::hex << m.first;
}

TEST(Elementary, TanhAndErfAreOddAndBounded) {
  // How far it is from that, 0 where it holds; made of choices between values, so that the loop over it is vectorised.
  auto off = [](float x, float plus, float minus) {
    const std::uint32_t odd = bits(minus) ^ bits(plus) ^ 0x80000000u;
    const float least = x < 10.0f ? 0.0f : 1.0f;
    const float beyond = (plus > 1.0f ? 1.0f : 0.0f) + (plus < least ? 1.0f : 0.0f);
    const float lost = (plus == plus ? 1.0f : 0.0f) + (minus == minus ? 1.0f : 0.0f);  // of NaN
    return x == x ? odd | bits(beyond) : bits(lost);
  };
  auto check = [&](auto f) {
    auto actual = [&](std::uint32_t u) { return off(from_bits(u), f(from_bits(u)), f(-from_bits(u))); };
    auto m = testing::compare(actual, [](std::uint32_t) { return 0u; }, kStride, kAllFloats / 2);
    EXPECT_EQ(m.compared, kAllFloats / 2 / kStride);
    EXPECT_EQ(m.count, 0u) << std::hex << m.first;
  };
  check([](float x) { return tanh(x); });
  check([](float x) { return erf(x); });
}

TEST(Elementary, SpecialValues) {
  float nan = from_bits(kCanonicalNan);
  EXPECT_EQ(bits(exp(kInfinity)), 0x7f800000u);
  EXPECT_EQ(bits(exp(-kInfinity)), 0u);
  EXPECT_EQ(bits(exp_nonpositive(-kInfinity)), 0u);
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(exp(-0.0f), 1.0f);
  EXPECT_EQ(bits(exp(0x1.62e42ep+6f)) >> 23, 254u);  // the last finite result
  EXPECT_EQ(exp(0x1.62e430p+6f), kInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_EQ(log(0.0f), -kInfinity);
  EXPECT_EQ(log(-0.0f), -kInfinity);
  EXPECT_EQ(bits(log(1.0f)), 0u);
  for (float x : {-1.0f, -0x1p-149f, -kInfinity}) EXPECT_TRUE(std::isnan(log(x))) << x;
  // Payloads with low bits set must not leak into the exponent.
  for (std::uint32_t u : {0x7fc00000u, 0x7fffffffu, 0x7f800001u, 0xffc00000u, 0xffffffffu, 0x7fc0007fu}) {
    nan = from_bits(u);
    for (float y : {exp(nan), exp_nonpositive(nan), log(nan), tanh(nan), erf(nan)}) {
      EXPECT_TRUE(std::isnan(y)) << std::hex << u;
    }
  }
  for (float x : {0.0f, 0x1p-149f, 0x1p-126f, 0x1p-20f}) {
    EXPECT_EQ(bits(tanh(x)), bits(x));
    EXPECT_EQ(bits(tanh(-x)), bits(-x));
  }
  EXPECT_EQ(bits(erf(-0.0f)), 0x80000000u);
  EXPECT_EQ(bits(erf(0x1p-149f)), 1u);
}

// The same text on a class type, with soft_fma: the bits of a build without the instruction.
TEST(Elementary, SoftFmaGivesTheSameBits) {
  for (std::uint64_t i = 0; i < kAllFloats; i += 4099) {
    float x = from_bits(static_cast<std::uint32_t>(i));
    Counted c(x);
    ASSERT_EQ(bits(canonical(exp(c).value)), bits(canonical(exp(x)))) << std::hexfloat << x;
    ASSERT_EQ(bits(canonical(log(c).value)), bits(canonical(log(x)))) << std::hexfloat << x;
    ASSERT_EQ(bits(canonical(tanh(c).value)), bits(canonical(tanh(x)))) << std::hexfloat << x;
    ASSERT_EQ(bits(canonical(erf(c).value)), bits(canonical(erf(x)))) << std::hexfloat << x;
  }
}

TEST(Elementary, TakesTheDocumentedNumberOfOperations) {
  auto count = [](auto f) {
    testing::operations = 0;
    f(Counted(0.5f));
    return testing::operations;
  };
  EXPECT_EQ(count([](Counted x) { exp(x); }), 20);
  EXPECT_EQ(count([](Counted x) { exp_nonpositive(x); }), 14);
  EXPECT_EQ(count([](Counted x) { log(x); }), 34);
  EXPECT_EQ(count([](Counted x) { tanh(x); }), 31);
  EXPECT_EQ(count([](Counted x) { erf(x); }), 31);
}

// A survey must notice small errors, wrong special values and wrong signs.
TEST(ElementaryComparator, CatchesWrongFunctions) {
  constexpr std::uint64_t kSparse = 4099;
  auto two_off = [](float x) { return from_bits(bits(exp(x)) + 2); };
  EXPECT_GT(survey(two_off, exact_exp, kSparse).worst[0].error, 1.0);
  auto flushed = [](float x) { return exp(x) < 0x1p-126f ? 0.0f : exp(x); };
  EXPECT_GT(survey(flushed, exact_exp, kSparse).worst[0].error, 1.0);
  auto nan_lost = [](float x) { return x != x ? 1.0f : exp(x); };
  EXPECT_GT(survey(nan_lost, exact_exp, kSparse).wrong, 0u);
  auto sign_lost = [](float x) { return from_bits(bits(tanh(x)) & 0x7fffffffu); };
  EXPECT_GT(survey(sign_lost, exact_tanh, kSparse).wrong, 0u);
  EXPECT_EQ(error(kInfinity, 1.0), (0x1p128 - 1.0) / 0x1p-23);
  EXPECT_EQ(error(1.0f, kWrong), kWrong);
  EXPECT_EQ(error(-0.0f, 0.0), kWrong);
  auto saw = [](float x) { return from_bits(bits(tanh(x)) ^ (bits(x) & 1)); };
  EXPECT_GT(survey(saw, exact_tanh, kSparse).descents, 0u);
}

}  // namespace
}  // namespace tokitai

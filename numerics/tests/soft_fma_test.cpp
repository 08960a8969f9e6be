// soft_fma against the processor's fma and against MPFR, on random bits and on the cases where an fma built
// from other operations usually goes wrong.
#include "numerics/soft_fma.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <random>
#include <vector>

#include "numerics/base.h"

namespace tokitai {
namespace {

std::uint32_t canonical_bits(float x) { return bits(canonical(x)); }

// Binary32 in MPFR: 24 bits, exponents bounded like float's, subnormals rounded where float rounds them.
class MpfrFma {
 public:
  MpfrFma() {
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    mpfr_inits2(24, a_, b_, c_, y_, static_cast<mpfr_ptr>(nullptr));
  }
  ~MpfrFma() { mpfr_clears(a_, b_, c_, y_, static_cast<mpfr_ptr>(nullptr)); }
  float operator()(float a, float b, float c) {
    mpfr_set_flt(a_, a, MPFR_RNDN);
    mpfr_set_flt(b_, b, MPFR_RNDN);
    mpfr_set_flt(c_, c, MPFR_RNDN);
    int inexact = mpfr_fma(y_, a_, b_, c_, MPFR_RNDN);
    mpfr_subnormalize(y_, inexact, MPFR_RNDN);
    return mpfr_get_flt(y_, MPFR_RNDN);
  }

 private:
  mpfr_t a_, b_, c_, y_;
};

// Operands that meet: c near -a * b (cancellation), near the last bit of the product (sticky bits), products
// around the subnormals and around overflow, few-bit operands (ties), and plain random bits.
struct Operands {
  float a, b, c;
};
class OperandSource {
 public:
  explicit OperandSource(std::uint64_t seed) : random_(seed) {}
  Operands next() {
    std::uint64_t r = random_();
    std::uint64_t s = random_();
    float a = from_bits(static_cast<std::uint32_t>(r));
    float b = from_bits(static_cast<std::uint32_t>(r >> 32));
    float c = from_bits(static_cast<std::uint32_t>(s));
    auto pick = static_cast<std::uint32_t>(s >> 32);
    int spread = static_cast<int>(pick >> 8);
    switch (pick % 6) {
      case 0: break;
      case 1:  // cancellation
        c = from_bits(bits(-(a * b)) + static_cast<std::uint32_t>(spread % 9 - 4));
        break;
      case 2:  // c far below or above the product, down to where only its sign decides
        a = with_exponent(a, spread % 20 - 10);
        b = with_exponent(b, spread / 32 % 20 - 10);
        c = with_exponent(c, spread / 1024 % 120 - 60);
        break;
      case 3:  // the product ends in or under the subnormals
        a = with_exponent(a, spread % 60 - 100);
        b = with_exponent(b, spread / 64 % 40 - 70);
        c = with_exponent(c, spread / 4096 % 30 - 149);
        break;
      case 4:  // around the largest float
        a = with_exponent(a, 64 + spread % 3);
        b = with_exponent(b, 62 + spread / 4 % 3);
        c = with_exponent(c, 100 + spread / 16 % 28);
        break;
      default:  // short significands: exact halves are common
        a = with_exponent(from_bits(bits(a) & 0xfffff000u), 0);
        b = with_exponent(from_bits(bits(b) & 0xffffe000u), 0);
        c = with_exponent(from_bits(bits(c) & 0xff800000u), spread % 64 - 50);
    }
    return {a, b, c};
  }

 private:
  static float with_exponent(float x, int exponent) {
    float one_to_two = from_bits((bits(x) & 0x807fffffu) | 0x3f800000u);
    return std::ldexp(one_to_two, exponent);
  }
  std::mt19937_64 random_;
};

// Every combination of values at which something changes.
std::vector<float> landmarks() {
  std::vector<float> values = {0.0f,
                               0x1p-149f,
                               0x1p-148f,
                               0x1p-127f,
                               0x1.fffffcp-127f,
                               0x1p-126f,
                               0x1.000002p-126f,
                               0x1p-100f,
                               0x1p-75f,
                               0x1.000002p-75f,
                               0x1p-25f,
                               0x1.000002p-25f,
                               0x1p-24f,
                               0x1.8p-24f,
                               0x1p-23f,
                               0x1p-12f,
                               0x1.001p+0f,
                               1.0f,
                               0x1.fffffep-1f,
                               0x1.000002p+0f,
                               0x1.8p+0f,
                               3.0f,
                               0x1.fffffep+0f,
                               0x1p+12f,
                               0x1p+23f,
                               0x1.000002p+12f,
                               0x1p+24f,
                               0x1.000002p+24f,
                               0x1p+63f,
                               0x1.fffffep+63f,
                               0x1p+64f,
                               0x1p+103f,
                               0x1p+104f,
                               0x1.fffffep+102f,
                               0x1p+127f,
                               0x1.fffffep+127f,
                               kInfinity};
  std::vector<float> all;
  for (float x : values) all.insert(all.end(), {x, -x});
  all.push_back(from_bits(kCanonicalNan));
  all.push_back(from_bits(0x7f800001u));
  return all;
}

#if defined(__x86_64__)
__attribute__((target("fma"), noinline)) float processor_fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

TEST(SoftFma, EqualsTheProcessorsOnAHundredMillionOperands) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this processor has no FMA";
  OperandSource source(1);
  for (int i = 0; i < 100'000'000; ++i) {
    auto [a, b, c] = source.next();
    std::uint32_t actual = canonical_bits(soft_fma(a, b, c));
    std::uint32_t expected = canonical_bits(processor_fma(a, b, c));
    if (actual != expected) FAIL() << std::hexfloat << a << " " << b << " " << c << std::hex << " " << actual;
  }
}
#endif

TEST(SoftFma, EqualsMpfrOnMillionsOfOperands) {
  MpfrFma exact;
  OperandSource source(2);
  for (int i = 0; i < 6'000'000; ++i) {
    auto [a, b, c] = source.next();
    std::uint32_t actual = canonical_bits(soft_fma(a, b, c));
    std::uint32_t expected = canonical_bits(exact(a, b, c));
    if (actual != expected) {
      FAIL() << std::hexfloat << a << " " << b << " " << c << std::hex << " " << actual << " " << expected;
    }
  }
}

TEST(SoftFma, EqualsMpfrOnEveryCombinationOfLandmarks) {
  MpfrFma exact;
  for (float a : landmarks()) {
    for (float b : landmarks()) {
      for (float c : landmarks()) {
        ASSERT_EQ(canonical_bits(soft_fma(a, b, c)), canonical_bits(exact(a, b, c)))
            << std::hexfloat << a << " " << b << " " << c;
      }
    }
  }
}

TEST(SoftFma, KeepsTheSignsOfZero) {
  EXPECT_EQ(bits(soft_fma(0.0f, 1.0f, -0.0f)), 0u);
  EXPECT_EQ(bits(soft_fma(-0.0f, 1.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(bits(soft_fma(1.0f, 1.0f, -1.0f)), 0u);
  EXPECT_EQ(bits(soft_fma(-0x1p-100f, 0x1p-100f, 0.0f)), 0x80000000u);  // underflow keeps the product's sign
}

// The shortcuts people take must be told apart from an fma by the same operands.
TEST(SoftFmaComparator, CatchesTwoRoundings) {
  MpfrFma exact;
  int in_float = 0;
  int in_double = 0;
  for (float a : landmarks()) {
    for (float b : landmarks()) {
      for (float c : landmarks()) {
        std::uint32_t expected = canonical_bits(exact(a, b, c));
        in_float += canonical_bits(a * b + c) != expected;
        in_double += canonical_bits(static_cast<float>(static_cast<double>(a) * b + c)) != expected;
      }
    }
  }
  EXPECT_GT(in_float, 0);
  EXPECT_GT(in_double, 0);
}

}  // namespace
}  // namespace tokitai

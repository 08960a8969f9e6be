// Conversions between f16, bf16 and f32, on every input, against the compiler's, the processor's, and an
// arithmetic one that shares no step with ours.
#include "numerics/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "numerics/tests/all_floats.h"
#include "testing/thorough.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tokitai {
namespace {

using testing::compare;
using testing::kAllFloats;
using testing::Mismatches;

std::uint16_t compiler_f16(std::uint32_t u) {
  float x = from_bits(u);
  return x != x ? 0x7e00 : std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
}

// The nearer of the two neighbours, measured in double; on a tie the one whose last bit is 0.
std::uint16_t nearer_bf16(std::uint32_t u) {
  float x = from_bits(u);
  if (x != x) return 0x7fc0;
  std::uint32_t below = u & 0x7fff0000u;
  std::uint32_t above = below + 0x10000u;
  double size = std::fabs(static_cast<double>(x));
  double low = from_bits(below);
  double high = above == 0x7f800000u ? 0x1p128 : static_cast<double>(from_bits(above));
  bool up =
      below != 0x7f800000u && (high - size < size - low || (high - size == size - low && (above & 0x10000u) == 0));
  return static_cast<std::uint16_t>(((up ? above : below) | (u & 0x80000000u)) >> 16);
}

// Every float in four minutes on two cores (libgcc converts in software), so every 13th where the processor's
// own conversion covers the rest, and in a quick run every 101st.
TEST(NarrowF16, EqualsTheCompilers) {
#if defined(__x86_64__)
  std::uint64_t stride = !__builtin_cpu_supports("f16c") ? 1 : testing::thorough() ? 13 : 101;
#else
  std::uint64_t stride = 1;
#endif
  Mismatches m = compare([](std::uint32_t u) { return narrow_f16(from_bits(u)); }, compiler_f16, stride);
  EXPECT_EQ(m.compared, kAllFloats / stride);
  EXPECT_EQ(m.count, 0u) << std::hex << "first at 0x" << m.first;
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void processor_f16(std::uint32_t begin, std::uint16_t* out) {
  alignas(32) std::uint32_t u[8];
  for (int i = 0; i < 8; ++i) u[i] = begin + i;
  __m256 x = _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(u)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
__attribute__((target("f16c"))) float processor_widen(std::uint16_t h) { return _cvtsh_ss(h); }

TEST(NarrowF16, EqualsTheProcessorsOnEveryFloat) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this processor has no F16C";
  auto partials =
      testing::over_ranges<Mismatches>(0, kAllFloats / 8, [](std::uint64_t a, std::uint64_t b, Mismatches& m) {
        std::uint16_t out[8];
        for (std::uint64_t i = a; i < b; ++i) {
          processor_f16(static_cast<std::uint32_t>(i * 8), out);
          for (unsigned j = 0; j < 8; ++j) {
            auto u = static_cast<std::uint32_t>(i * 8 + j);
            std::uint16_t expected = (u & 0x7fffffffu) > 0x7f800000u ? 0x7e00 : out[j];
            if (narrow_f16(from_bits(u)) != expected && m.count++ == 0) m.first = u;
            ++m.compared;
          }
        }
      });
  std::uint64_t compared = 0;
  for (const Mismatches& m : partials) {
    EXPECT_EQ(m.count, 0u) << std::hex << "first at 0x" << m.first;
    compared += m.compared;
  }
  EXPECT_EQ(compared, kAllFloats);
}

TEST(WidenF16, EqualsTheProcessorsOnEveryValue) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "this processor has no F16C";
  for (std::uint32_t h = 0; h < 65536; ++h) {
    auto half = static_cast<std::uint16_t>(h);
    // The processor makes a signalling NaN quiet; ours keeps the bits.
    std::uint32_t quiet = (h & 0x7fff) > 0x7c00 ? 0x00400000u : 0;
    ASSERT_EQ(bits(widen_f16(half)) | quiet, bits(processor_widen(half))) << std::hex << h;
  }
}
#endif

#if defined(__x86_64__)
// The caller's floating-point mode must not reach a conversion: rounding up, subnormals flushed both ways.
TEST(HalfConversions, DoNotDependOnTheFloatingPointMode) {
  constexpr unsigned kRoundUp = 0x4000, kFlushResults = 0x8000, kFlushOperands = 0x0040;
  volatile std::uint64_t stride = 997;  // volatile, so that the compiler cannot reuse the first checksum
  auto checksum = [&stride] {
    std::uint64_t sum = 0;
    std::uint64_t step = stride;
    for (std::uint64_t u = 0; u < kAllFloats; u += step) {
      float x = from_bits(static_cast<std::uint32_t>(u));
      sum = sum * 31 + narrow_f16(x) * 65536u + narrow_bf16(x);
    }
    for (std::uint32_t h = 0; h < 65536 * step / 997; ++h) {
      sum = sum * 31 + bits(widen_f16(static_cast<std::uint16_t>(h)));
    }
    return sum;
  };
  std::uint64_t expected = checksum();
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | kRoundUp | kFlushResults | kFlushOperands);
  volatile float tiny = 0x1p-149f;
  volatile bool is_flushed = tiny * 1.0f == 0.0f;
  std::uint64_t actual = checksum();
  _mm_setcsr(mode);
  EXPECT_TRUE(is_flushed) << "the mode did not take effect, so nothing was tested";
  EXPECT_EQ(actual, expected);
}
#endif

TEST(WidenF16, EqualsTheDefinitionOnEveryValue) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    int exponent = static_cast<int>(h >> 10) & 31;
    double fraction = (h & 1023) / 1024.0;
    double size = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
    std::uint32_t expected = bits(static_cast<float>(h & 0x8000 ? -size : size));
    if (exponent == 31) expected = (h & 0x8000) << 16 | 0x7f800000u | (h & 1023) << 13;
    ASSERT_EQ(bits(widen_f16(static_cast<std::uint16_t>(h))), expected) << std::hex << h;
  }
}

TEST(HalfRoundTrip, WideningThenNarrowingKeepsEveryValue) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    auto half = static_cast<std::uint16_t>(h);
    ASSERT_EQ(narrow_f16(widen_f16(half)), (h & 0x7fff) > 0x7c00 ? 0x7e00 : half) << std::hex << h;
    ASSERT_EQ(narrow_bf16(widen_bf16(half)), (h & 0x7fff) > 0x7f80 ? 0x7fc0 : half) << std::hex << h;
    ASSERT_EQ(bits(widen_bf16(half)), h << 16);
  }
}

TEST(NarrowBf16, IsTheNearerNeighbourForEveryFloat) {
  Mismatches m = compare([](std::uint32_t u) { return narrow_bf16(from_bits(u)); }, nearer_bf16);
  EXPECT_EQ(m.compared, kAllFloats);
  EXPECT_EQ(m.count, 0u) << std::hex << "first at 0x" << m.first;
}

// What a careless conversion does must not pass the comparator used above.
TEST(NarrowComparator, CatchesTruncationHalfUpAndFlushing) {
  auto expect_caught = [](auto wrong, auto expected, const char* name) {
    EXPECT_GT(compare(wrong, expected, 1021).count, 0u) << name;
  };
  auto truncate_bf16 = [](std::uint32_t u) { return static_cast<std::uint16_t>(u >> 16); };
  expect_caught(truncate_bf16, nearer_bf16, "bf16 truncation");
  auto half_up_bf16 = [](std::uint32_t u) {
    return static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : (u + 0x8000u) >> 16);
  };
  EXPECT_GT(compare(half_up_bf16, nearer_bf16, 0x8000).count, 0u) << "bf16 ties away from zero";
  EXPECT_EQ(compare(half_up_bf16, nearer_bf16, 0x8000).first, 0x8000u);
  auto truncate_f16 = [](std::uint32_t u) { return narrow_f16(from_bits(u & ~0x1fffu)); };
  expect_caught(truncate_f16, compiler_f16, "f16 truncation");
  auto flush_f16 = [](std::uint32_t u) {
    std::uint16_t h = narrow_f16(from_bits(u));
    return static_cast<std::uint16_t>(h & 0x7c00 ? h : h & 0x8000);
  };
  expect_caught(flush_f16, compiler_f16, "f16 subnormals flushed");
  auto keep_payload = [](std::uint32_t u) {
    std::uint16_t h = narrow_f16(from_bits(u));
    return static_cast<std::uint16_t>(h == 0x7e00 ? 0x7e00 | u >> 31 << 15 : h);
  };
  expect_caught(keep_payload, compiler_f16, "f16 NaN with a sign");
}

// The nearest f16 by exact arithmetic in double: divided by the spacing there, f16 values are integers.
std::uint16_t nearest_f16(double x) {
  if (x != x) return 0x7e00;
  std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  double size = std::fabs(x);
  if (size >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00);
  int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  double scaled = std::ldexp(size, 10 - exponent);  // exact unless far below f16: then it stays below 1/2
  double whole = std::floor(scaled);
  double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) == 1.0)) whole += 1.0;
  return static_cast<std::uint16_t>(sign + (static_cast<std::uint32_t>(exponent + 14) << 10) +
                                    static_cast<std::uint32_t>(whole));
}

TEST(NarrowF16FromDouble, RoundsOnceAroundEveryValueAndEveryTie) {
  std::uint64_t through_float_wrong = 0;
  auto check = [&](double x) {
    for (double y : {x, -x}) {
      ASSERT_EQ(narrow_f16_from_double(y), nearest_f16(y)) << std::hexfloat << y;
      through_float_wrong += narrow_f16(static_cast<float>(y)) != nearest_f16(y);
    }
  };
  for (std::uint16_t h = 0; h < 0x7c00; ++h) {
    double value = widen_f16(h);
    double spacing = std::ldexp(1.0, (h < 0x0400 ? 1 : h >> 10) - 25);
    double tie = value + spacing / 2;
    for (double x : {value, tie}) {
      check(x);
      check(std::nextafter(x, 1e300));
      if (x > 0) check(std::nextafter(x, 0.0));
      for (int k = 20; k < 60; k += 3) check(x * (1 + std::ldexp(1.0, -k)));
      for (int k = 20; k < 54; k += 3) check(x * (1 - std::ldexp(1.0, -k)));
    }
  }
  // The same cases show that a detour through f32 rounds twice.
  EXPECT_GT(through_float_wrong, 0u);
}

TEST(NarrowF16FromDouble, HandlesTheEndsAndRandomBits) {
  for (double x : {0.0, 0x1p-1074, 0x1p-1022, 0x1p-25, 0x1.0000000000001p-25, 0x1.fffffffffffffp-26, 65519.99, 65520.0,
                   1e300, static_cast<double>(kInfinity)}) {
    EXPECT_EQ(narrow_f16_from_double(x), nearest_f16(x)) << x;
    EXPECT_EQ(narrow_f16_from_double(-x), nearest_f16(-x)) << x;
  }
  EXPECT_EQ(narrow_f16_from_double(-0.0), 0x8000);
  EXPECT_EQ(narrow_f16_from_double(0x1p-25), 0);
  EXPECT_EQ(narrow_f16_from_double(0x1.0000000000001p-25), 1);
  EXPECT_EQ(narrow_f16_from_double(-std::nan("7")), 0x7e00);
  std::mt19937_64 random(1);
  for (int i = 0; i < 4'000'000; ++i) {
    std::uint64_t u = random();
    double any = std::bit_cast<double>(u);
    ASSERT_EQ(narrow_f16_from_double(any), nearest_f16(any)) << std::hexfloat << any;
    // Exponents from 2^-30 to 2^17, where f16 lives.
    double in_range = std::ldexp(1.0 + static_cast<double>(u >> 12) * 0x1p-52, static_cast<int>(u % 48) - 30);
    ASSERT_EQ(narrow_f16_from_double(in_range), nearest_f16(in_range)) << std::hexfloat << in_range;
    float exact = from_bits(static_cast<std::uint32_t>(u));
    ASSERT_EQ(narrow_f16_from_double(exact), narrow_f16(exact));
  }
}

}  // namespace
}  // namespace tokitai

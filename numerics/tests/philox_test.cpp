// Philox against its authors' known answers; uniforms and normals against their distributions. The checksum
// at the end pins the bits: it must be the same on every machine and with every compiler.
#include "numerics/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "numerics/tests/all_floats.h"

namespace tokitai {
namespace {

void expect_words(PhiloxWords actual, PhiloxWords expected) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(actual.word[i], expected.word[i]) << "word " << i;
}

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  expect_words(philox4x32_10({{0, 0, 0, 0}}, 0, 0), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  constexpr std::uint32_t kOnes = 0xffffffffu;
  expect_words(philox4x32_10({{kOnes, kOnes, kOnes, kOnes}}, kOnes, kOnes),
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_words(philox4x32_10({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Philox, SeedStreamAndCounterFillKeyAndCounterWords) {
  Philox generator{0x299f31d0a4093822u, 0x0370734413198a2eu};
  expect_words(generator.at(0x85a308d3243f6a88u), {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(generator.word(i), generator.at(i / 4).word[i % 4]);
  EXPECT_NE(Philox{1}.word(0), Philox{2}.word(0));
  EXPECT_NE((Philox{1, 1}.word(0)), (Philox{1, 2}.word(0)));
}

TEST(Uniform, IsExactAndInsideItsRange) {
  EXPECT_EQ(uniform_from_word(0), 0.0f);
  EXPECT_EQ(uniform_from_word(0xff), 0.0f);
  EXPECT_EQ(uniform_from_word(0x100), 0x1p-24f);
  EXPECT_EQ(uniform_from_word(0x80000000u), 0.5f);
  EXPECT_EQ(uniform_from_word(0xffffffffu), 0x1.fffffep-1f);
}

// How far normal_from_word is from the quantile it stands for: distance in probability over the density.
double normal_error(std::uint32_t m, float z) {
  double p = (2.0 * m + 1.0) * 0x1p-33;
  double density = std::exp(-0.5 * static_cast<double>(z) * z) / 2.5066282746310002;
  return std::fabs(0.5 * std::erfc(z * 0.70710678118654752) - p) / density;
}

TEST(Normal, IsTheQuantileOfItsWord) {
  struct Worst {
    double error = 0;
    std::uint32_t at = 0;
  };
  // Every word of the far tail (p < 2^-12), every 101st of the rest.
  auto visit = [](std::uint64_t begin, std::uint64_t end, Worst& worst) {
    for (std::uint64_t i = begin; i < end; ++i) {
      auto m = static_cast<std::uint32_t>(i < (1u << 20) ? i : (i - (1u << 20)) * 101 + (1u << 20));
      double e = normal_error(m, normal_from_word(m));
      if (!(e <= worst.error)) worst = {e, m};  // a NaN is kept
    }
  };
  std::uint64_t count = (1u << 20) + ((1u << 31) - (1u << 20)) / 101;
  double largest = 0;
  for (const Worst& worst : testing::over_ranges<Worst>(0, count, visit)) {
    EXPECT_LE(worst.error, 1.3e-6) << worst.at;
    largest = std::max(largest, worst.error);
  }
  std::printf("normal: largest error %.3g\n", largest);
  EXPECT_GT(normal_error(12345, normal_from_word(12345) * 1.000002f), 1.3e-6);  // the check can fail
}

TEST(Normal, IsSymmetricAndReachesSixSigma) {
  for (std::uint32_t m = 0; m < 0x80000000u - 99991; m += 99991) {
    EXPECT_EQ(bits(normal_from_word(m | 0x80000000u)), bits(normal_from_word(m)) | 0x80000000u);
  }
  EXPECT_NEAR(normal_from_word(0), 6.338, 0.001);
  EXPECT_GE(normal_from_word(0x7fffffffu), 0.0f);
  EXPECT_LT(normal_from_word(0x7fffffffu), 1e-9f);
}

TEST(Normal, HasTheMomentsOfANormal) {
  Philox generator{20240229};
  constexpr int kCount = 4'000'000;
  double sums[5] = {};
  for (int i = 0; i < kCount; ++i) {
    double z = generator.normal(i);
    double power = 1;
    for (double& sum : sums) sum += power, power *= z;
  }
  // Five standard errors: of z^k they are sqrt((E z^2k - (E z^k)^2) / n).
  double five = 5 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(sums[1] / kCount, 0.0, five);
  EXPECT_NEAR(sums[2] / kCount, 1.0, five * std::sqrt(2.0));
  EXPECT_NEAR(sums[3] / kCount, 0.0, five * std::sqrt(15.0));
  EXPECT_NEAR(sums[4] / kCount, 3.0, five * std::sqrt(96.0));
}

TEST(Normal, HasTheSameBitsOnEveryMachine) {
  Philox generator{7, 3};
  std::uint64_t sum = 14695981039346656037u;  // FNV-1a over words
  for (int i = 0; i < 1'000'000; ++i) {
    sum = (sum ^ bits(generator.normal(i))) * 1099511628211u;
    sum = (sum ^ bits(generator.uniform(i))) * 1099511628211u;
  }
  EXPECT_EQ(sum, 18364663173368329307u);
}

}  // namespace
}  // namespace tokitai

// rope.table against MPFR: every entry is the f32 nearest to the cosine or sine of the real angle.
#include "operators/rope/table.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>

#include "tokitai/rope.h"

namespace tokitai {
namespace {

// p * base^(-2j/D) to 300 bits, then each function to the nearest f32.
struct Exact {
  mpfr_t angle, value;
  Exact() { mpfr_inits2(300, angle, value, nullptr); }
  ~Exact() {
    mpfr_clears(angle, value, nullptr);
    mpfr_free_cache();
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

  rope::CosSin at(std::int64_t position, std::int64_t j, std::int64_t half, float base) {
    mpfr_set_d(value, static_cast<double>(base), MPFR_RNDN);
    mpfr_set_si(angle, static_cast<long>(-j), MPFR_RNDN);
    mpfr_div_si(angle, angle, static_cast<long>(half), MPFR_RNDN);
    mpfr_pow(angle, value, angle, MPFR_RNDN);
    mpfr_mul_si(angle, angle, static_cast<long>(position), MPFR_RNDN);
    mpfr_cos(value, angle, MPFR_RNDN);
    const float cosine = mpfr_get_flt(value, MPFR_RNDN);
    mpfr_sin(value, angle, MPFR_RNDN);
    return {cosine, mpfr_get_flt(value, MPFR_RNDN)};
  }
};

void expect_nearest(std::int64_t half, float base, std::int64_t first, std::int64_t count, std::int64_t step) {
  const rope::Angles angles(half, base);
  Exact exact;
  for (std::int64_t p = first; p < first + count * step; p += step)
    for (std::int64_t j = 0; j < half; ++j) {
      const auto found = angles.at(p, j), wanted = exact.at(p, j, half, base);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found.cos), std::bit_cast<std::uint32_t>(wanted.cos)) << p << " " << j;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found.sin), std::bit_cast<std::uint32_t>(wanted.sin)) << p << " " << j;
    }
}

TEST(RopeTable, EveryEntryIsTheNearestF32) {
  expect_nearest(32, 10000, 0, 400, 1);
  expect_nearest(64, 10000, 0, 40, 977);
  expect_nearest(64, 500000, 1, 60, 7919);
  expect_nearest(3, 10000, 0, 300, 1);
  expect_nearest(1, 10000, 0, 3000, 1);
  expect_nearest(20, 1, 0, 50, 1);
  expect_nearest(40, 1.5f, 0, 50, 1);
  expect_nearest(24, rope::Angles::kMostBase, 0, 60, 1);
  expect_nearest(16, 10000, (std::int64_t{1} << 31) - 300, 300, 1);
  expect_nearest(8, 1e7f, 1, 300, 7158277);
}
TEST(RopeTable, PositionZeroIsOneAndPlusZero) {
  const rope::Angles angles(5, 10000);
  for (std::int64_t j = 0; j < 5; ++j) {
    EXPECT_EQ(angles.at(0, j).cos, 1.0f);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(angles.at(0, j).sin), 0u);
  }
}
TEST(RopeTable, LeavesWhatLiesBetweenRowsAsItIs) {
  float cos[3][5] = {}, sin[3][4] = {};
  cos[1][4] = sin[2][3] = 7;
  ASSERT_TRUE(rope_table({.cos = matrix(&cos[0][0], 3, 2, 5), .sin = matrix(&sin[0][0], 3, 2, 4)}).ok());
  EXPECT_EQ(cos[1][0], rope::Angles(2, 10000).at(1, 0).cos);
  EXPECT_EQ(sin[2][1], rope::Angles(2, 10000).at(2, 1).sin);
  EXPECT_EQ(cos[1][4], 7);
  EXPECT_EQ(sin[2][3], 7);
}
TEST(RopeTable, RefusesWhatItCannotFillAndWritesNothing) {
  float cos[4] = {7, 7, 7, 7}, sin[4] = {7, 7, 7, 7};
  std::int32_t integers[4] = {};
  const auto refused = [&](const RopeTable& arguments, std::string_view words) {
    const Status status = rope_table(arguments);
    EXPECT_EQ(status.code(), Code::invalid) << words;
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    EXPECT_EQ(cos[0], 7);
    EXPECT_EQ(sin[0], 7);
  };
  refused({.cos = matrix(cos, 2, 2), .sin = matrix(sin, 1, 2)}, "sin has shape [1, 2]");
  refused({.cos = matrix(cos, 2, 2), .sin = vector(sin, 4)}, "sin must be a matrix");
  refused({.cos = matrix(integers, 2, 2), .sin = matrix(sin, 2, 2)}, "cos has type i32");
  refused({.cos = matrix(cos, 0, 2), .sin = matrix(sin, 0, 2)}, "cos has shape [0, 2]");
  refused({.cos = matrix(cos, 2, 2, 1), .sin = matrix(sin, 2, 2)}, "cos has row stride 1");
  refused({.base = 0.5f, .cos = matrix(cos, 2, 2), .sin = matrix(sin, 2, 2)}, "base = 0.5");
  refused({.base = 0x1p41f, .cos = matrix(cos, 2, 2), .sin = matrix(sin, 2, 2)}, "base = ");
  refused({.base = std::bit_cast<float>(0x7fc00000u), .cos = matrix(cos, 2, 2), .sin = matrix(sin, 2, 2)}, "base = ");
}

}  // namespace
}  // namespace tokitai

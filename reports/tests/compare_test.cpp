// The comparators must fail: whatever differs in one bit, was not written, or lies between rows, counts.
#include "reports/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "numerics/half.h"

namespace tokitai::evidence {
namespace {

Difference compare_floats(std::vector<float> expected, std::vector<float> found) {
  const auto n = static_cast<std::int64_t>(expected.size());
  return compare(vector(expected.data(), n), vector(found.data(), n));
}

TEST(Compare, CountsEveryElementAndFindsEqualOnesEqual) {
  const Difference d = compare_floats({1, -2, 3.5f, kInfinity}, {1, -2, 3.5f, kInfinity});
  EXPECT_EQ(d.compared, 4);
  EXPECT_EQ(d.differing, 0);
}

TEST(Compare, RejectsANanAgainstANumber) {
  EXPECT_EQ(compare_floats({1, 2}, {1, std::nanf("")}).differing, 1);
  EXPECT_EQ(compare_floats({std::nanf(""), 2}, {1, 2}).differing, 1);
}

TEST(Compare, RejectsAnotherNan) {
  EXPECT_EQ(compare_floats({from_bits(0x7fc00000u)}, {from_bits(0x7fc00000u)}).differing, 0);
  EXPECT_EQ(compare_floats({from_bits(0x7fc00000u)}, {from_bits(0x7fc00001u)}).differing, 1);
  EXPECT_EQ(compare_floats({from_bits(0x7fc00000u)}, {from_bits(0xffc00000u)}).differing, 1);
}

TEST(Compare, RejectsTheOtherZero) {
  EXPECT_EQ(compare_floats({0.0f}, {-0.0f}).differing, 1);
  f16 plus{0x0000}, minus{0x8000};
  EXPECT_EQ(compare(vector(&plus, 1), vector(&minus, 1)).differing, 1);
}

TEST(Compare, RejectsASingleBit) {
  std::vector<float> a(1000, 1.25f), b = a;
  for (int bit = 0; bit < 32; ++bit) {
    b[777] = from_bits(bits(a[777]) ^ (1u << bit));
    const Difference d = compare(vector(a.data(), 1000), vector(b.data(), 1000));
    EXPECT_EQ(d.differing, 1) << "bit " << bit;
    EXPECT_EQ(d.row, 777);
  }
}

TEST(Compare, SeesEveryByteOfWideIntegers) {
  std::int64_t a = 1, b = 1 + (std::int64_t{1} << 40);
  EXPECT_EQ(compare(vector(&a, 1), vector(&b, 1)).differing, 1);
}

TEST(Compare, RejectsAnUnwrittenOutput) {
  std::vector<f16> expected(12, f16{0x3c00}), found = expected;
  found[7].bits = 0x5a5a;  // the poison the device's output was filled with
  const Difference d = compare(matrix(expected.data(), 3, 4), matrix(found.data(), 3, 4));
  EXPECT_EQ(d.compared, 12);
  EXPECT_EQ(d.differing, 1);
  EXPECT_EQ(d.row, 1);
  EXPECT_EQ(d.col, 3);
  EXPECT_EQ(d.expected, 0x3c00u);
  EXPECT_EQ(d.found, 0x5a5au);
}

TEST(Compare, ReportsTheFirstAndCountsAll) {
  std::vector<float> a(20, 1), b = a;
  b[19] = b[6] = b[11] = 2;
  const Difference d = compare(matrix(a.data(), 4, 5), matrix(b.data(), 4, 5));
  EXPECT_EQ(d.differing, 3);
  EXPECT_EQ(d.row, 1);
  EXPECT_EQ(d.col, 1);
}

TEST(Compare, LooksAtTheElementsOfPaddedRowsOnly) {
  std::vector<float> a(3 * 8, -1), b(3 * 6, -2);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 5; ++c)
      a[static_cast<std::size_t>(r * 8 + c)] = b[static_cast<std::size_t>(r * 6 + c)] = static_cast<float>(r * 5 + c);
  const View x = matrix(a.data(), 3, 5, 8), y = matrix(b.data(), 3, 5, 6);
  EXPECT_EQ(compare(x, y).compared, 15);
  EXPECT_EQ(compare(x, y).differing, 0);
  b[2 * 6 + 4] = 0;  // the very last element
  EXPECT_EQ(compare(x, y).differing, 1);
}

TEST(TouchedPadding, CountsEveryByteBetweenRows) {
  std::vector<f16> m(3 * 8, f16{0x5a5a});
  const View view = matrix(m.data(), 3, 5, 8);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 5; ++c) m[static_cast<std::size_t>(r * 8 + c)].bits = 0;  // elements are not padding
  EXPECT_EQ(touched_padding(view, std::byte{0x5a}), 0);
  m[5].bits = 0x5a00;  // one byte, right behind the first row
  EXPECT_EQ(touched_padding(view, std::byte{0x5a}), 1);
  m[2 * 8 + 7].bits = 0;  // both bytes at the end of the last
  EXPECT_EQ(touched_padding(view, std::byte{0x5a}), 3);
}

TEST(TouchedPadding, IsZeroWhereThereIsNone) {
  std::vector<float> m(12, 0);
  EXPECT_EQ(touched_padding(matrix(m.data(), 3, 4), std::byte{0x5a}), 0);
  EXPECT_EQ(touched_padding(vector(m.data(), 12), std::byte{0x5a}), 0);
}

}  // namespace
}  // namespace tokitai::evidence

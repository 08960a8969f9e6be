#include "operators/rope/table.h"

#include <fmt/format.h>

#include <bit>

#include "tokitai/rope.h"

namespace tokitai {
namespace rope {
namespace {

using u64 = std::uint64_t;
using u128 = unsigned __int128;

constexpr Fixed kLn2{{0x8a0d175b8baafa2b, 0x40f343267298b62d, 0xc9e3b39803f2f6af, 0xb17217f7d1cf79ab, 0}};
constexpr Fixed kTurn{{0x7f9458eaf7aef158, 0x36d8a5664f10e410, 0x7f09d5f47d4d3770, 0x28be60db9391054a, 0}};  // 1/(2 pi)
constexpr Fixed kOne{{0, 0, 0, 0, 1}};

Fixed operator+(const Fixed& a, const Fixed& b) {
  Fixed sum;
  u128 carry = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    carry += static_cast<u128>(a.limb[i]) + b.limb[i];
    sum.limb[i] = static_cast<u64>(carry);
    carry >>= 64;
  }
  return sum;
}
Fixed operator*(const Fixed& a, u64 n) {
  Fixed product;
  u128 carry = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    carry += static_cast<u128>(a.limb[i]) * n;
    product.limb[i] = static_cast<u64>(carry);
    carry >>= 64;
  }
  return product;
}
Fixed operator*(const Fixed& a, const Fixed& b) {
  std::array<u64, 10> all{};
  for (std::size_t i = 0; i < 5; ++i) {
    u128 carry = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      carry += static_cast<u128>(a.limb[i]) * b.limb[j] + all[i + j];
      all[i + j] = static_cast<u64>(carry);
      carry >>= 64;
    }
    all[i + 5] = static_cast<u64>(carry);
  }
  return {{all[4], all[5], all[6], all[7], all[8]}};
}
Fixed operator/(const Fixed& a, u64 n) {
  Fixed quotient;
  u128 rest = 0;
  for (std::size_t i = 5; i-- > 0;) {
    rest = rest << 64 | a.limb[i];
    quotient.limb[i] = static_cast<u64>(rest / n);
    rest %= n;
  }
  return quotient;
}
Fixed halved(Fixed a, u64 times) {
  for (; times > 0; --times) {
    for (std::size_t i = 0; i < 4; ++i) a.limb[i] = a.limb[i] >> 1 | a.limb[i + 1] << 63;
    a.limb[4] >>= 1;
  }
  return a;
}

// Of a number in [1, 2^128): its significand is squared again and again, and gives a digit whenever it passes 2.
Fixed log2(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  Fixed y = kOne, result;
  y.limb[3] = static_cast<u64>(bits & 0x7fffffu) << 41;
  result.limb[4] = (bits >> 23) - 127;
  for (std::size_t digit = 0; digit < 256; ++digit) {
    y = y * y;
    if (y.limb[4] < 2) continue;
    y = halved(y, 1);
    result.limb[3 - digit / 64] |= u64{1} << (63 - digit % 64);
  }
  return result;
}
// 2^-x: the exponential's series for an argument below 2^-8, squared eight times.
Fixed exp2_minus(const Fixed& x) {
  Fixed part;  // 1 - the fraction of x
  for (std::size_t i = 0; i < 4; ++i) part.limb[i] = ~x.limb[i];
  const Fixed y = halved(part * kLn2, 8);
  Fixed sum = kOne, term = kOne;
  for (u64 k = 1; k < 40; ++k) {
    term = term * y / k;
    sum = sum + term;
  }
  for (int i = 0; i < 8; ++i) sum = sum * sum;
  return halved(sum, x.limb[4] + 1);
}

// Numbers below 4 with 126 bits behind the point, for the series of sine and cosine up to an eighth of a turn.
constexpr u128 kUnit = static_cast<u128>(1) << 126;
constexpr u128 kQuarterTurn = static_cast<u128>(0x6487ed5110b4611a) << 64 | 0x62633145c06e0e68;  // pi/2

u128 product(u128 a, u128 b) {
  const u64 a0 = static_cast<u64>(a), a1 = static_cast<u64>(a >> 64);
  const u64 b0 = static_cast<u64>(b), b1 = static_cast<u64>(b >> 64);
  const u128 low = static_cast<u128>(a0) * b0, one = static_cast<u128>(a0) * b1, two = static_cast<u128>(a1) * b0;
  const u128 middle = (low >> 64) + static_cast<u64>(one) + static_cast<u64>(two);
  const u128 high = static_cast<u128>(a1) * b1 + (one >> 64) + (two >> 64) + (middle >> 64);
  return high << 2 | static_cast<u64>(middle) >> 62;
}

constexpr int kTerms = 18;  // (pi/4)^36 / 36! is below 2^-126
// 1/n! for n = first, first + 2, ...
constexpr std::array<u128, kTerms> inverse_factorials(int first) {
  std::array<u128, kTerms> all{kUnit};
  for (std::size_t k = 1; k < kTerms; ++k) {
    const u64 n = static_cast<u64>(first) + 2 * k;
    all[k] = all[k - 1] / (n * (n - 1));
  }
  return all;
}
constexpr auto kCosine = inverse_factorials(0), kSine = inverse_factorials(1);

u128 alternating(const std::array<u128, kTerms>& terms, u128 x) {
  u128 sum = terms[kTerms - 1];
  for (std::size_t k = kTerms - 1; k-- > 0;) sum = terms[k] - product(x, sum);
  return sum;
}

// The nearest f32, ties to even.
float nearest(u128 magnitude, bool negative) {
  if (magnitude == 0) return 0.0f;
  const u64 high = static_cast<u64>(magnitude >> 64);
  const int top = high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<u64>(magnitude));
  const int shift = top - 23;
  const u128 half = static_cast<u128>(1) << (shift - 1), lost = magnitude & (2 * half - 1);
  auto kept = static_cast<std::uint32_t>(magnitude >> shift);
  if (lost > half || (lost == half && (kept & 1u) != 0)) ++kept;
  const float unit = std::bit_cast<float>(static_cast<std::uint32_t>(127 + shift - 126) << 23);
  const float value = static_cast<float>(kept) * unit;
  return negative ? -value : value;
}

}  // namespace

Angles::Angles(std::int64_t half, float base) {
  const Fixed log = log2(base);
  turns_.reserve(static_cast<std::size_t>(half));
  turns_.push_back(kTurn);  // theta_0 is 1
  for (std::int64_t j = 1; j < half; ++j)
    turns_.push_back(exp2_minus(log * static_cast<u64>(j) / static_cast<u64>(half)) * kTurn);
}

CosSin Angles::at(std::int64_t position, std::int64_t j) const {
  Fixed angle = turns_[static_cast<std::size_t>(j)] * static_cast<u64>(position);
  angle.limb[4] = 0;  // whole turns
  angle = angle * 4;
  u64 quarter = angle.limb[4];
  // From the nearest quarter turn on, forward or back.
  const bool back = angle.limb[3] >> 63 != 0;
  if (back) {
    ++quarter;
    for (std::size_t i = 0; i < 4; ++i) angle.limb[i] = ~angle.limb[i];
  }
  const u128 rest = product((static_cast<u128>(angle.limb[3]) << 64 | angle.limb[2]) >> 2, kQuarterTurn);
  const u128 square = product(rest, rest);
  const u128 sine = product(rest, alternating(kSine, square)), cosine = alternating(kCosine, square);
  switch (quarter % 4) {
    case 0: return {nearest(cosine, false), nearest(sine, back)};
    case 1: return {nearest(sine, !back), nearest(cosine, false)};
    case 2: return {nearest(cosine, true), nearest(sine, !back)};
    default: return {nearest(sine, back), nearest(cosine, true)};
  }
}

}  // namespace rope

Status rope_table(const RopeTable& a) {
  const auto fail = [](const std::string& what) { return Status::invalid("rope.table: " + what); };
  constexpr std::int64_t kMostPositions = std::int64_t{1} << 31;
  for (const auto& [name, view] : {std::pair("cos", &a.cos), std::pair("sin", &a.sin)}) {
    if (view->rank != 2) return fail(fmt::format("{} must be a matrix [positions, D/2]", name));
    if (view->type != Type::f32) return fail(fmt::format("{} has type {}; it must be f32", name, name_of(view->type)));
    if (view->rows() < 1 || view->cols() < 1 || view->rows() > kMostPositions)
      return fail(fmt::format("{} has shape [{}, {}]; it must have 1 to 2^31 positions and at least 1 column", name,
                              view->rows(), view->cols()));
    if (view->row_stride < view->cols())
      return fail(fmt::format("{} has row stride {}; it must be at least its {} columns", name, view->row_stride,
                              view->cols()));
    if (view->data == nullptr) return fail(fmt::format("{} has no memory: its pointer is null", name));
  }
  if (a.cos.shape != a.sin.shape)
    return fail(fmt::format("sin has shape [{}, {}], but cos has shape [{}, {}]", a.sin.rows(), a.sin.cols(),
                            a.cos.rows(), a.cos.cols()));
  if (!(a.base >= 1 && a.base <= rope::Angles::kMostBase))
    return fail(fmt::format("base = {}; it must be at least 1 and at most 2^40", a.base));
  const rope::Angles angles(a.cos.cols(), a.base);
  for (std::int64_t p = 0; p < a.cos.rows(); ++p)
    for (std::int64_t j = 0; j < a.cos.cols(); ++j) {
      const auto [cosine, sine] = angles.at(p, j);
      static_cast<float*>(a.cos.data)[p * a.cos.row_stride + j] = cosine;
      static_cast<float*>(a.sin.data)[p * a.sin.row_stride + j] = sine;
    }
  return {};
}

}  // namespace tokitai

// Products as Hopper's tensor cores add them (numerics/hopper.h), 16 products at a time, in vectors of outputs. A
// group's terms are cut at a common power of two and added as 32-bit integers: the largest 16 of them stay below 2^31.
// That holds where the largest exponent is an ordinary one and everything is finite; else a lane at a time does what
// the definition says.
#pragma once
#include "machines/cpu/tile_parts.h"
#include "numerics/hopper.h"

namespace tokitai::cpu::TK_ISA {

template <Type S> struct Hopper {
  using IntTag = hn::RebindToSigned<FloatTag>;
  using Ints = hn::Vec<IntTag>;
  using WideTag = hn::Rebind<double, hn::Half<FloatTag>>;
  static constexpr int kRows = 4, kCols = kWidth;
  static constexpr std::int64_t kInner = 128;
  static constexpr std::int64_t kMostRows = 96;
  static constexpr int kSmallest = S == Type::f16 ? hopper::kSmallestF16 : hopper::kSmallestBf16;
  static constexpr int kNone = hopper::kQuickNone, kUnbounded = hopper::kQuickUnbounded;
  static constexpr int kLow = hopper::kQuickAbove, kHigh = hopper::kQuickBelow;

  // Values, and behind them their exponents, each as [inner][line], inner padded to whole groups.
  static constexpr std::int64_t padded(std::int64_t inner) { return round_up(inner, hopper::kGroup); }
  static constexpr std::int64_t left_bytes(std::int64_t inner) { return 8 * kRows * padded(inner); }
  static constexpr std::int64_t right_bytes(std::int64_t inner) { return 8 * kCols * padded(inner); }
  static void pack_left(const Factor& a, std::int64_t row, std::int64_t rows, std::int64_t k0, std::int64_t k1,
                        std::byte* to) {
    pack<kRows>(a, row, rows, k0, k1, to);
  }
  static void pack_right(const Factor& b, std::int64_t col, std::int64_t cols, std::int64_t k0, std::int64_t k1,
                         std::byte* to) {
    pack<kCols>(b, col, cols, k0, k1, to);
  }

  static TK_FN void multiply(const std::byte* left, const std::byte* right, std::int64_t inner, float* c,
                             std::int64_t stride, bool first) {
    const auto* a = reinterpret_cast<const float*>(left);
    const auto* b = reinterpret_cast<const float*>(right);
    const auto* left_exponents = reinterpret_cast<const std::int32_t*>(a + kRows * padded(inner));
    const auto* right_exponents = reinterpret_cast<const std::int32_t*>(b + kCols * padded(inner));
    Lanes sum[kRows];
    for (int i = 0; i < kRows; ++i) sum[i] = first ? Lanes(0.0f) : load(c + i * stride);
    for (std::int64_t k = 0; k < padded(inner); k += hopper::kGroup)
      group(a + k * kRows, left_exponents + k * kRows, b + k * kCols, right_exponents + k * kCols, sum);
    for (int i = 0; i < kRows; ++i) store(c + i * stride, sum[i]);
  }
  static TK_FN Lanes ended(Lanes sum) { return sum; }
  static void begin() {}
  static void end() {}

 private:
  static TK_FN Ints exponents_of(Lanes x, int smallest) {
    const IntTag d;
    const auto magnitude = hn::And(hn::BitCast(d, x.v), hn::Set(d, 0x7fffffff));
    const auto field = hn::ShiftRight<23>(magnitude);
    const auto exponent = hn::Max(hn::Sub(field, hn::Set(d, 127)), hn::Set(d, smallest));
    const auto bounded = hn::IfThenElse(hn::Eq(field, hn::Set(d, 255)), hn::Set(d, kUnbounded), exponent);
    return hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), hn::Set(d, kNone), bounded);
  }

  template <int panel>
  static void pack(const Factor& from, std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t k1,
                   std::byte* to) {
    const std::int64_t inner = k1 - k0, values = panel * padded(inner);
    auto* floats = reinterpret_cast<float*>(to);
    widen_lines<S, panel>(from, first, count, k0, k1, floats, 2 * values);
    for (std::int64_t p = 0; p < count; p += panel, floats += 2 * values) {
      std::fill(floats + panel * inner, floats + values, 0.0f);
      auto* exponents = reinterpret_cast<std::int32_t*>(floats + values);
      static_assert(panel * hopper::kGroup % kWidth == 0);
      for (std::int64_t at = 0; at < values; at += kWidth)
        hn::StoreU(exponents_of(load(floats + at), kSmallest), IntTag(), exponents + at);
    }
  }

  static TK_FN void group(const float* a, const std::int32_t* ea, const float* b, const std::int32_t* eb,
                          Lanes (&sum)[kRows]) {
    const IntTag d;
    Ints largest[kRows];
    for (int i = 0; i < kRows; ++i) largest[i] = exponents_of(sum[i], -126);
    for (int k = 0; k < hopper::kGroup; ++k) {
      const auto y = hn::LoadU(d, eb + k * kCols);
      for (int i = 0; i < kRows; ++i) largest[i] = hn::Max(largest[i], hn::Add(hn::Set(d, ea[k * kRows + i]), y));
    }
    bool ordinary = true;
    Lanes power[kRows];
    for (int i = 0; i < kRows; ++i) {
      // A lane without any term has no exponent: any will do.
      largest[i] = hn::IfThenElse(hn::Lt(largest[i], hn::Set(d, kNone + 400)), hn::Zero(d), largest[i]);
      ordinary = ordinary &&
                 hn::AllTrue(d, hn::And(hn::Gt(largest[i], hn::Set(d, kLow)), hn::Lt(largest[i], hn::Set(d, kHigh))));
      power[i] =
          Lanes(hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::Sub(hn::Set(d, 127 + hopper::kFraction), largest[i]))));
    }
    if (!ordinary) [[unlikely]]
      return lane_by_lane(a, b, sum);
    Ints total[kRows];
    for (int i = 0; i < kRows; ++i) total[i] = hn::Zero(d);
    for (int k = 0; k < hopper::kGroup; ++k) {
      const Lanes y = load(b + k * kCols);
      for (int i = 0; i < kRows; ++i) total[i] = hn::Add(total[i], whole_part(Lanes(a[k * kRows + i]) * y * power[i]));
    }
    for (int i = 0; i < kRows; ++i) sum[i] = ended(total[i], whole_part(sum[i] * power[i]), largest[i]);
  }

  // Toward zero, of what fits.
  static TK_FN Ints whole_part(Lanes x) {
#if HWY_TARGET == HWY_AVX3
    return Ints{_mm512_cvttps_epi32(x.v.raw)};
#elif HWY_TARGET == HWY_AVX2
    return Ints{_mm256_cvttps_epi32(x.v.raw)};
#else
    return hn::ConvertTo(IntTag(), x.v);
#endif
  }

  // The sum of both in units of 2^(exponent - 25), without what lies below 24 bits. 33 bits hold it.
  static TK_FN Lanes ended(Ints products, Ints start, Ints exponent) {
    alignas(64) std::int32_t p[kWidth], s[kWidth], e[kWidth];
    alignas(64) float r[kWidth];
    hn::Store(products, IntTag(), p);
    hn::Store(start, IntTag(), s);
    hn::Store(exponent, IntTag(), e);
    for (int l = 0; l < kWidth; ++l) {
      const auto exact = static_cast<double>(p[l]) + static_cast<double>(s[l]);
      const auto kept = std::bit_cast<double>(std::bit_cast<std::uint64_t>(exact) & 0xffffffffe0000000u);
      const auto unit = std::bit_cast<double>(static_cast<std::uint64_t>(e[l] - hopper::kFraction + 1023) << 52);
      r[l] = static_cast<float>(kept * unit);
    }
    return load(r);
  }

  static __attribute__((noinline)) void lane_by_lane(const float* a, const float* b, Lanes (&sum)[kRows]) {
    for (int i = 0; i < kRows; ++i) {
      alignas(64) float chain[kWidth];
      store(chain, sum[i]);
      for (int l = 0; l < kWidth; ++l) {
        float x[hopper::kGroup], y[hopper::kGroup];
        for (int k = 0; k < hopper::kGroup; ++k) x[k] = a[k * kRows + i], y[k] = b[k * kCols + l];
        chain[l] = hopper::add_group(x, y, hopper::kGroup, chain[l], kSmallest);
      }
      sum[i] = load(chain);
    }
  }
};

}  // namespace tokitai::cpu::TK_ISA

// Products from blocks of integers (numerics/block15.h). A line's 128 values of a block become integers under one
// exponent, lines beside each other in vectors; a block's sum is exact in 32 bits, so the processor's widest integer
// products may add it in any order, and one fma per block adds it to the chain.
#pragma once
#include "machines/cpu/tile_parts.h"
#include "numerics/block15.h"

namespace tokitai::cpu::TK_ISA {

struct Integers {
  using Tag = hn::RebindToSigned<FloatTag>;
  using Ints = hn::Vec<Tag>;
  Ints q, hi, lo;
};

// The integers of one inner index of a vector of lines, whose blocks have these scales (2^(13 - exponent), or 0).
TK_FN Integers integers_of(Lanes x, Lanes scale) {
  const Integers::Tag d;
  constexpr float kRound = 12582912.0f;
  const auto clamp = [&](Integers::Ints v, int most) {
    return hn::Max(hn::Min(v, hn::Set(d, most)), hn::Set(d, -most));
  };
  // Where a block holds what is no number, its lines' scale is 0, and so are its integers, whatever x is.
  const Lanes scaled = select(scale == Lanes(0.0f), Lanes(0.0f), x * scale);
  const auto q = clamp(hn::Sub(hn::BitCast(d, (scaled + Lanes(kRound)).v), hn::BitCast(d, Lanes(kRound).v)), 16383);
  const auto odd = hn::And(hn::ShiftRight<7>(q), hn::Set(d, 1));
  const auto hi = clamp(hn::ShiftRight<7>(hn::Add(hn::Add(q, hn::Set(d, 63)), odd)), 127);
  return {q, hi, hn::Sub(q, hn::ShiftLeft<7>(hi))};
}

// Widens a panel of lines of one block and turns it into integers. `less` as in scale_of. The scales of the lines go to
// `scales`, and `put` gets each vector of integers with its first line and inner index.
template <Type S, int panel, class Put>
TK_FN void integers_of_panel(const Factor& from, std::int64_t first, std::int64_t count, std::int64_t k0,
                             std::int64_t k1, int less, float* scales, const Put& put) {
  static_assert(panel % kWidth == 0);
  alignas(64) float floats[panel * block15::kBlock];
  const std::int64_t filled = count > 0 ? panel * (k1 - k0) : 0;
  widen_lines<S, panel>(from, first, std::min<std::int64_t>(panel, count), k0, k1, floats, 0);
  std::fill(floats + filled, floats + panel * block15::kBlock, 0.0f);
  const Integers::Tag d;
  for (int line = 0; line < panel; line += kWidth) {
    auto largest = hn::Zero(d);  // magnitudes as integers, a NaN above all
    for (int k = 0; k < block15::kBlock; ++k)
      largest = hn::Max(largest, hn::And(hn::LoadU(d, reinterpret_cast<const std::int32_t*>(floats) + k * panel + line),
                                         hn::Set(d, 0x7fffffff)));
    alignas(64) std::int32_t magnitude[kWidth];
    alignas(64) float up[kWidth];
    hn::Store(largest, d, magnitude);
    for (int l = 0; l < kWidth; ++l) {
      const int exponent = block15::exponent_of(static_cast<std::uint32_t>(magnitude[l]));
      scales[line + l] = block15::scale_of(exponent, less);
      up[l] = exponent == block15::kNotNumbers ? 0.0f : block15::power_of_two(13 - exponent);
    }
    for (int k = 0; k < block15::kBlock; ++k) put(line, k, integers_of(load(floats + k * panel + line), load(up)));
  }
}

// The sums of a block, 128 hh + cross, added to the chains.
TK_FN void add_sums(Integers::Ints sums, float left, Lanes right, float* c, bool first) {
  const Lanes t = hn::ConvertTo(FloatTag(), sums);
  store(c, fma(t, Lanes(left) * right, first ? Lanes(0.0f) : load(c)));
}

// 16-bit multiply-add: T = sum of hiA qB + loA hiB, in pairs of neighbours along the inner index.
template <Type S> struct Block15 {
#if HWY_TARGET == HWY_AVX3
  static constexpr int kRows = 8, kVectors = 2;
#else
  static constexpr int kRows = 4, kVectors = 2;
#endif
  static constexpr int kCols = kVectors * kWidth, kPanel = kRows < kWidth ? kWidth : kRows;
  static constexpr std::int64_t kInner = block15::kBlock;
  static constexpr std::int64_t kMostRows = 96;
  static constexpr int kPairs = block15::kBlock / 2;

  struct Left {
    float scales[kRows];
    std::int32_t hi[kPairs][kRows], lo[kPairs][kRows];  // pairs of 16 bits
  };
  struct Right {
    float scales[kCols];
    std::int32_t q[kPairs][kCols], hi[kPairs][kCols];
  };
  static constexpr std::int64_t left_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Left); }
  static constexpr std::int64_t right_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Right); }

  static void pack_left(const Factor& a, std::int64_t row, std::int64_t rows, std::int64_t k0, std::int64_t k1,
                        std::byte* to) {
    auto* panel = reinterpret_cast<Left*>(to);
    for (std::int64_t i = 0; i < rows;
         i += kPanel) {  // a vector of lines at once, several panels where one is narrower
      float scales[kPanel];
      Left* const begin = panel;
      const int used = static_cast<int>(std::min<std::int64_t>(kPanel, round_up(rows - i, kRows)));
      integers_of_panel<S, kPanel>(a, row + i, rows - i, k0, k1, 13, scales, [&](int line, int k, const Integers& x) {
        alignas(64) std::int32_t hi[kWidth], lo[kWidth];
        hn::Store(x.hi, Integers::Tag(), hi);
        hn::Store(x.lo, Integers::Tag(), lo);
        for (int l = 0; l < kWidth && line + l < used; ++l) {
          Left& in = begin[(line + l) / kRows];
          put_half(in.hi[k / 2][(line + l) % kRows], k % 2, hi[l]);
          put_half(in.lo[k / 2][(line + l) % kRows], k % 2, lo[l]);
        }
      });
      for (int line = 0; line < used; ++line) begin[line / kRows].scales[line % kRows] = scales[line];
      panel += used / kRows;
    }
  }
  static void pack_right(const Factor& b, std::int64_t col, std::int64_t cols, std::int64_t k0, std::int64_t k1,
                         std::byte* to) {
    auto* panel = reinterpret_cast<Right*>(to);
    for (std::int64_t j = 0; j < cols; j += kCols, ++panel)
      integers_of_panel<S, kCols>(b, col + j, cols - j, k0, k1, 6, panel->scales,
                                  [&](int line, int k, const Integers& x) {
                                    join(panel->q[k / 2] + line, k % 2, x.q);
                                    join(panel->hi[k / 2] + line, k % 2, x.hi);
                                  });
  }

  static TK_FN void multiply(const std::byte* left, const std::byte* right, std::int64_t, float* c, std::int64_t stride,
                             bool first) {
    const auto& a = *reinterpret_cast<const Left*>(left);
    const auto& b = *reinterpret_cast<const Right*>(right);
    const Integers::Tag d;
    Integers::Ints sum[kRows][kVectors];
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
    for (int k = 0; k < kPairs; ++k) {
      Integers::Ints q[kVectors], hi[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        q[v] = hn::LoadU(d, b.q[k] + v * kWidth);
        hi[v] = hn::LoadU(d, b.hi[k] + v * kWidth);
      }
      for (int i = 0; i < kRows; ++i) {
        const auto x = hn::Set(d, a.hi[k][i]), y = hn::Set(d, a.lo[k][i]);
        for (int v = 0; v < kVectors; ++v)
          sum[i][v] = hn::Add(sum[i][v], hn::Add(pair_sums(x, q[v]), pair_sums(y, hi[v])));
      }
    }
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v)
        add_sums(sum[i][v], a.scales[i], load(b.scales + v * kWidth), c + i * stride + v * kWidth, first);
  }
  static TK_FN Lanes ended(Lanes sum) { return sum + Lanes(0.0f); }
  static void begin() {}
  static void end() {}

 private:
  static TK_FN void put_half(std::int32_t& pair, int half, std::int32_t value) {
    const auto bits = static_cast<std::uint32_t>(value) & 0xffffu;
    pair = static_cast<std::int32_t>(half == 0 ? bits : static_cast<std::uint32_t>(pair) | bits << 16);
  }
  // The first of a pair, or behind it the second.
  static TK_FN void join(std::int32_t* to, int half, Integers::Ints value) {
    const Integers::Tag d;
    const auto low = hn::And(value, hn::Set(d, 0xffff));
    hn::StoreU(half == 0 ? low : hn::Or(hn::LoadU(d, to), hn::ShiftLeft<16>(value)), d, to);
  }
  // The sums of the products of both 16-bit halves.
  static TK_FN Integers::Ints pair_sums(Integers::Ints a, Integers::Ints b) {
#if HWY_TARGET == HWY_AVX3
    return Integers::Ints{_mm512_madd_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
    return Integers::Ints{_mm256_madd_epi16(a.raw, b.raw)};
#else
    const auto low = [](Integers::Ints x) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(x)); };
    return hn::Add(hn::Mul(low(a), low(b)), hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b)));
#endif
  }
};

}  // namespace tokitai::cpu::TK_ISA

// Products as one fma chain per output. Cache blocking does not touch that order: between two blocks of the inner index
// the chain waits in memory as f32, unrounded.
#pragma once
#include "machines/cpu/tile_parts.h"

namespace tokitai::cpu::TK_ISA {

template <Type S> struct Chain {
#if HWY_TARGET == HWY_AVX3
  static constexpr int kRows = 12, kVectors = 2;  // 24 of 32 registers hold chains
#elif HWY_TARGET == HWY_AVX2
  static constexpr int kRows = 6, kVectors = 2;  // 12 of 16
#else
  static constexpr int kRows = 4, kVectors = 2;
#endif
  static constexpr int kCols = kVectors * kWidth;
  static constexpr std::int64_t kInner = 256;  // a B panel of this length stays in the first-level cache
  static constexpr std::int64_t kMostRows = 96;

  static constexpr std::int64_t left_bytes(std::int64_t inner) { return kRows * inner * 4; }
  static constexpr std::int64_t right_bytes(std::int64_t inner) { return kCols * inner * 4; }
  static void pack_left(const Factor& a, std::int64_t row, std::int64_t rows, std::int64_t k0, std::int64_t k1,
                        std::byte* to) {
    widen_lines<S, kRows>(a, row, rows, k0, k1, reinterpret_cast<float*>(to), kRows * (k1 - k0));
  }
  static void pack_right(const Factor& b, std::int64_t col, std::int64_t cols, std::int64_t k0, std::int64_t k1,
                         std::byte* to) {
    widen_lines<S, kCols>(b, col, cols, k0, k1, reinterpret_cast<float*>(to), kCols * (k1 - k0));
  }

  // kRows x kCols chains over `inner` steps, from what `c` holds, or from +0 at the first block.
  static TK_FN void multiply(const std::byte* left, const std::byte* right, std::int64_t inner, float* c,
                             std::int64_t stride, bool first) {
    const auto* a = reinterpret_cast<const float*>(left);
    const auto* b = reinterpret_cast<const float*>(right);
    Lanes acc[kRows][kVectors];
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = first ? Lanes(0.0f) : load(c + i * stride + v * kWidth);
    for (std::int64_t k = 0; k < inner; ++k) {
      Lanes y[kVectors];
      for (int v = 0; v < kVectors; ++v) y[v] = load(b + k * kCols + v * kWidth);
      for (int i = 0; i < kRows; ++i) {
        const Lanes x = a[k * kRows + i];
        for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(x, y[v], acc[i][v]);
      }
    }
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) store(c + i * stride + v * kWidth, acc[i][v]);
  }
  static TK_FN Lanes ended(Lanes sum) { return sum; }
  static void begin() {}
  static void end() {}
};

}  // namespace tokitai::cpu::TK_ISA

// block15 by the byte products of processors with AVX-512: VNNI's vectors, AMX's tiles. Both want four neighbours along
// the inner index in one 32-bit lane.
#pragma once
#include "machines/cpu/tile_block15.h"

#if HWY_TARGET == HWY_AVX3
#include <immintrin.h>

namespace tokitai::cpu::TK_ISA {

inline constexpr int kByteQuads = block15::kBlock / 4;

// Gathers bytes of one plane, four inner indices to a lane, and hands on each whole vector of lanes.
struct Quads {
  __m512i held = _mm512_setzero_si512();
  // Whether the lanes are whole.
  TK_FN bool add(int k, Integers::Ints value) {
    const __m512i byte = _mm512_and_si512(value.raw, _mm512_set1_epi32(0xff));
    held = k % 4 == 0 ? byte : _mm512_or_si512(held, _mm512_sllv_epi32(byte, _mm512_set1_epi32(8 * (k % 4))));
    return k % 4 == 3;
  }
};

// VNNI multiplies unsigned bytes by signed ones: the right factor's have 128 added, and what that adds to every sum of
// a row is taken off before the sum begins.
template <Type S> struct Block15Vnni {
  static constexpr int kRows = 4, kVectors = 2, kCols = kVectors * kWidth, kPanel = kWidth;
  static constexpr std::int64_t kInner = block15::kBlock;
  static constexpr std::int64_t kMostRows = 96;

  struct Left {
    float scales[kRows];
    std::int32_t high_sums[kRows], cross_sums[kRows];  // what the sums begin with
    std::int32_t hi[kByteQuads][kRows], lo[kByteQuads][kRows];
  };
  struct Right {
    alignas(64) float scales[kCols];
    alignas(64) std::int32_t hi[kByteQuads][kCols], lo[kByteQuads][kCols];
  };
  static constexpr std::int64_t left_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Left); }
  static constexpr std::int64_t right_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Right); }

  static void pack_left(const Factor& a, std::int64_t row, std::int64_t rows, std::int64_t k0, std::int64_t k1,
                        std::byte* to) {
    auto* const panels = reinterpret_cast<Left*>(to);
    const std::int64_t used = round_up(rows, kRows);
    for (std::int64_t i = 0; i < used; i += kPanel) {
      alignas(64) float scales[kPanel];
      Quads hi, lo;
      __m512i sum_hi = _mm512_setzero_si512(), sum_lo = sum_hi;
      const auto lines = static_cast<int>(std::min<std::int64_t>(kPanel, used - i));
      const auto each_line = [&](const auto& put) {
        for (int l = 0; l < lines; ++l) put(panels[(i + l) / kRows], static_cast<int>((i + l) % kRows), l);
      };
      integers_of_panel<S, kPanel>(a, row + i, std::max<std::int64_t>(rows - i, 0), k0, k1, 13, scales,
                                   [&](int, int k, const Integers& x) {
                                     sum_hi = _mm512_add_epi32(sum_hi, x.hi.raw);
                                     sum_lo = _mm512_add_epi32(sum_lo, x.lo.raw);
                                     hi.add(k, x.hi);
                                     if (!lo.add(k, x.lo)) return;
                                     alignas(64) std::int32_t h[kWidth], w[kWidth];
                                     _mm512_store_si512(h, hi.held);
                                     _mm512_store_si512(w, lo.held);
                                     each_line([&](Left& in, int r, int l) {
                                       in.hi[k / 4][r] = h[l];
                                       in.lo[k / 4][r] = w[l];
                                     });
                                   });
      alignas(64) std::int32_t high[kWidth], cross[kWidth];
      _mm512_store_si512(high, _mm512_slli_epi32(sum_hi, 7));
      _mm512_store_si512(cross, _mm512_slli_epi32(_mm512_add_epi32(sum_hi, sum_lo), 7));
      each_line([&](Left& in, int r, int l) {
        in.scales[r] = scales[l];
        in.high_sums[r] = -high[l];
        in.cross_sums[r] = -cross[l];
      });
    }
  }
  static void pack_right(const Factor& b, std::int64_t col, std::int64_t cols, std::int64_t k0, std::int64_t k1,
                         std::byte* to) {
    auto* panel = reinterpret_cast<Right*>(to);
    const __m512i offset = _mm512_set1_epi32(static_cast<std::int32_t>(0x80808080u));  // adds 128 to each byte
    for (std::int64_t j = 0; j < cols; j += kCols, ++panel) {
      Quads hi, lo;
      integers_of_panel<S, kCols>(b, col + j, cols - j, k0, k1, 6, panel->scales,
                                  [&](int line, int k, const Integers& x) {
                                    hi.add(k, x.hi);
                                    if (!lo.add(k, x.lo)) return;
                                    _mm512_storeu_si512(panel->hi[k / 4] + line, _mm512_xor_si512(hi.held, offset));
                                    _mm512_storeu_si512(panel->lo[k / 4] + line, _mm512_xor_si512(lo.held, offset));
                                  });
    }
  }

  static __attribute__((target("avx512vnni"))) void multiply(const std::byte* left, const std::byte* right,
                                                             std::int64_t, float* c, std::int64_t stride, bool first) {
    const auto& a = *reinterpret_cast<const Left*>(left);
    const auto& b = *reinterpret_cast<const Right*>(right);
    __m512i high[kRows][kVectors], cross[kRows][kVectors];
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) {
        high[i][v] = _mm512_set1_epi32(a.high_sums[i]);
        cross[i][v] = _mm512_set1_epi32(a.cross_sums[i]);
      }
    for (int k = 0; k < kByteQuads; ++k) {
      __m512i hi[kVectors], lo[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        hi[v] = _mm512_loadu_si512(b.hi[k] + v * kWidth);
        lo[v] = _mm512_loadu_si512(b.lo[k] + v * kWidth);
      }
      for (int i = 0; i < kRows; ++i) {
        const __m512i x = _mm512_set1_epi32(a.hi[k][i]), y = _mm512_set1_epi32(a.lo[k][i]);
        for (int v = 0; v < kVectors; ++v) {
          high[i][v] = _mm512_dpbusd_epi32(high[i][v], hi[v], x);
          cross[i][v] = _mm512_dpbusd_epi32(cross[i][v], lo[v], x);
          cross[i][v] = _mm512_dpbusd_epi32(cross[i][v], hi[v], y);
        }
      }
    }
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) {
        const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(high[i][v], 7), cross[i][v]);
        float* at = c + i * stride + v * kWidth;
        const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(a.scales[i]), _mm512_loadu_ps(b.scales + v * kWidth));
        const __m512 chain = first ? _mm512_setzero_ps() : _mm512_loadu_ps(at);
        _mm512_storeu_ps(at, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, chain));
      }
  }
  static TK_FN Lanes ended(Lanes sum) { return sum + Lanes(0.0f); }
  static void begin() {}
  static void end() {}
};

// AMX multiplies signed bytes: tiles of 16 rows by 64 of the inner index, and of 64 by 16 columns. Two by two tiles of
// outputs share what is loaded; first the high parts' products, then the two cross ones.
template <Type S> struct Block15Amx {
  static constexpr int kSide = 16, kRows = 2 * kSide, kCols = 2 * kSide;
  static constexpr std::int64_t kInner = block15::kBlock;
  static constexpr std::int64_t kMostRows = 96;
  static constexpr int kSteps = block15::kBlock / 64;

  struct Left {
    alignas(64) float scales[kRows];
    alignas(64) std::int8_t hi[kRows][block15::kBlock], lo[kRows][block15::kBlock];
  };
  struct Right {
    alignas(64) float scales[kCols];
    alignas(64) std::int32_t hi[2][kByteQuads][kSide], lo[2][kByteQuads][kSide];  // of either tile
  };
  static constexpr std::int64_t left_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Left); }
  static constexpr std::int64_t right_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Right); }

  static void pack_left(const Factor& a, std::int64_t row, std::int64_t rows, std::int64_t k0, std::int64_t k1,
                        std::byte* to) {
    auto* panel = reinterpret_cast<Left*>(to);
    const __m512i down = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                            _mm512_set1_epi32(block15::kBlock));
    for (std::int64_t i = 0; i < rows; i += kRows, ++panel) {
      Quads hi, lo;
      integers_of_panel<S, kRows>(a, row + i, rows - i, k0, k1, 13, panel->scales,
                                  [&](int line, int k, const Integers& x) {
                                    hi.add(k, x.hi);
                                    if (!lo.add(k, x.lo)) return;
                                    _mm512_i32scatter_epi32(panel->hi[line] + (k - 3), down, hi.held, 1);
                                    _mm512_i32scatter_epi32(panel->lo[line] + (k - 3), down, lo.held, 1);
                                  });
    }
  }
  static void pack_right(const Factor& b, std::int64_t col, std::int64_t cols, std::int64_t k0, std::int64_t k1,
                         std::byte* to) {
    auto* panel = reinterpret_cast<Right*>(to);
    for (std::int64_t j = 0; j < cols; j += kCols, ++panel) {
      Quads hi, lo;
      integers_of_panel<S, kCols>(b, col + j, cols - j, k0, k1, 6, panel->scales,
                                  [&](int line, int k, const Integers& x) {
                                    hi.add(k, x.hi);
                                    if (!lo.add(k, x.lo)) return;
                                    _mm512_storeu_si512(panel->hi[line / kSide][k / 4], hi.held);
                                    _mm512_storeu_si512(panel->lo[line / kSide][k / 4], lo.held);
                                  });
    }
  }

  static __attribute__((target("amx-tile,amx-int8"))) void multiply(const std::byte* left, const std::byte* right,
                                                                    std::int64_t, float* c, std::int64_t stride,
                                                                    bool first) {
    const auto& a = *reinterpret_cast<const Left*>(left);
    const auto& b = *reinterpret_cast<const Right*>(right);
    alignas(64) std::int32_t high[kRows][kCols], cross[kRows][kCols];
    asm volatile("" ::: "memory");  // the compiler is not told what a tile's load reads
    clear();
    for (int s = 0; s < kSteps; ++s) add(a.hi, b.hi, s);
    keep(high);
    clear();
    for (int s = 0; s < kSteps; ++s) {
      add(a.hi, b.lo, s);
      add(a.lo, b.hi, s);
    }
    keep(cross);
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kCols; j += kSide) {
        const __m512i sum =
            _mm512_add_epi32(_mm512_slli_epi32(_mm512_load_si512(high[i] + j), 7), _mm512_load_si512(cross[i] + j));
        float* at = c + i * stride + j;
        const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(a.scales[i]), _mm512_load_ps(b.scales + j));
        const __m512 chain = first ? _mm512_setzero_ps() : _mm512_loadu_ps(at);
        _mm512_storeu_ps(at, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, chain));
      }
  }
  static TK_FN Lanes ended(Lanes sum) { return sum + Lanes(0.0f); }

  static __attribute__((target("amx-tile"))) void begin() {
    struct alignas(64) Configuration {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static_assert(sizeof(Configuration) == 64);
    static constexpr Configuration configuration;
    _tile_loadconfig(&configuration);
  }
  static __attribute__((target("amx-tile"))) void end() { _tile_release(); }

 private:
  // Tiles 0 to 3 are the sums, 4 and 5 rows of the left factor, 6 and 7 columns of the right one.
  static __attribute__((always_inline, target("amx-tile,amx-int8"))) void clear() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  static __attribute__((always_inline, target("amx-tile,amx-int8"))) void add(
      const std::int8_t (&x)[kRows][block15::kBlock], const std::int32_t (&y)[2][kByteQuads][kSide], int step) {
    _tile_loadd(4, x[0] + 64 * step, block15::kBlock);
    _tile_loadd(6, y[0][16 * step], 64);
    _tile_loadd(7, y[1][16 * step], 64);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(5, x[kSide] + 64 * step, block15::kBlock);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  static __attribute__((always_inline, target("amx-tile,amx-int8"))) void keep(std::int32_t (&sums)[kRows][kCols]) {
    _tile_stored(0, sums[0], sizeof(sums[0]));
    _tile_stored(1, sums[0] + kSide, sizeof(sums[0]));
    _tile_stored(2, sums[kSide], sizeof(sums[0]));
    _tile_stored(3, sums[kSide] + kSide, sizeof(sums[0]));
  }
};

}  // namespace tokitai::cpu::TK_ISA
#endif

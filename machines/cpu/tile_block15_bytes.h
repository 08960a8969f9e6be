// block15 by the byte products of processors with AVX-512: VNNI's vectors, AMX's tiles. Both want four neighbours along
// the inner index in one 32-bit lane.
#pragma once
#include "machines/cpu/tile_block15.h"

#if HWY_TARGET == HWY_AVX3
#include <immintrin.h>

#include <cstring>

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

// A block of the left factor: for each row the bytes along the inner index.
template <int rows> struct ByteRows {
  alignas(64) float scales[rows];
  alignas(64) std::int8_t hi[rows][block15::kBlock], lo[rows][block15::kBlock];

  template <Type S>
  TK_FN void pack(const Factor& a, std::int64_t row, std::int64_t count, std::int64_t k0, std::int64_t k1) {
    if (a.down_columns) return pack_across<S>(a, row, count, k0, k1);
    using Element = typename Memory<S>::Element;
    for (int r = 0; r < rows; ++r) {
      Lanes x[block15::kBlock / kWidth];
      const Element* from = static_cast<const Element*>(a.view.data) + (row + r) * a.view.row_stride + k0;
      for (int v = 0; v < block15::kBlock / kWidth; ++v) {
        const std::int64_t left = r < count ? k1 - k0 - v * kWidth : 0;
        x[v] = left >= kWidth ? Memory<S>::widen(from + v * kWidth)
               : left > 0     ? widen_first<S>(from + v * kWidth, left)
                              : Lanes(0.0f);
      }
      __m512i largest = _mm512_setzero_si512();  // magnitudes as integers, a NaN above all
      for (const Lanes& v : x)
        largest =
            _mm512_max_epi32(largest, _mm512_and_si512(_mm512_castps_si512(v.v.raw), _mm512_set1_epi32(0x7fffffff)));
      const int exponent = block15::exponent_of(static_cast<std::uint32_t>(_mm512_reduce_max_epi32(largest)));
      scales[r] = block15::left_scale(exponent);
      const Lanes up(exponent == block15::kNotNumbers ? 0.0f : block15::power_of_two(13 - exponent));
      for (int v = 0; v < block15::kBlock / kWidth; ++v) {
        const Integers q = integers_of(x[v], up);
        _mm_store_si128(reinterpret_cast<__m128i*>(hi[r] + v * kWidth), _mm512_cvtepi32_epi8(q.hi.raw));
        _mm_store_si128(reinterpret_cast<__m128i*>(lo[r] + v * kWidth), _mm512_cvtepi32_epi8(q.lo.raw));
      }
    }
  }

 private:
  // Rows that are neighbours in memory, 16 at a time.
  template <Type S>
  TK_FN void pack_across(const Factor& a, std::int64_t row, std::int64_t count, std::int64_t k0, std::int64_t k1) {
    const __m512i down = _mm512_mullo_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                            _mm512_set1_epi32(block15::kBlock));
    for (int i = 0; i < rows; i += kWidth) {
      alignas(64) float made[kWidth];
      const __mmask16 exist = rows - i >= kWidth ? 0xffff : static_cast<__mmask16>((1u << (rows - i)) - 1u);
      Quads high, low;
      integers_of_panel<S, kWidth>(a, row + i, std::max<std::int64_t>(count - i, 0), k0, k1, 13, made,
                                   [&](int, int k, const Integers& x) {
                                     high.add(k, x.hi);
                                     if (!low.add(k, x.lo)) return;
                                     _mm512_mask_i32scatter_epi32(hi[i] + (k - 3), exist, down, high.held, 1);
                                     _mm512_mask_i32scatter_epi32(lo[i] + (k - 3), exist, down, low.held, 1);
                                   });
      for (int r = i; r < std::min(i + kWidth, rows); ++r) scales[r] = made[r - i];
    }
  }
};

// What a block of integers adds to the chains of 16 outputs.
TK_FN void add_bytes(__m512i sum, float left, const float* right, float* c, bool first) {
  const __m512 scale = _mm512_mul_ps(_mm512_set1_ps(left), _mm512_load_ps(right));
  const __m512 chain = first ? _mm512_setzero_ps() : _mm512_loadu_ps(c);
  _mm512_storeu_ps(c, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, chain));
}

// VNNI multiplies unsigned bytes by signed ones: the right factor's have 128 added, and what that adds to every sum of
// a row is taken off before the sum begins.
template <Type S> struct Block15Vnni {
  static constexpr int kRows = 4, kVectors = 2, kCols = kVectors * kWidth;
  static constexpr std::int64_t kInner = block15::kBlock;
  static constexpr std::int64_t kMostRows = 96;

  struct Left {
    ByteRows<kRows> rows;
    std::int32_t high_sums[kRows], cross_sums[kRows];  // what the sums begin with
  };
  struct Right {
    alignas(64) float scales[kCols];
    alignas(64) std::int32_t hi[kByteQuads][kCols], lo[kByteQuads][kCols];
  };
  static constexpr std::int64_t left_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Left); }
  static constexpr std::int64_t right_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Right); }

  static void pack_left(const Factor& a, std::int64_t row, std::int64_t rows, std::int64_t k0, std::int64_t k1,
                        std::byte* to) {
    auto* panel = reinterpret_cast<Left*>(to);
    for (std::int64_t i = 0; i < rows; i += kRows, ++panel) {
      panel->rows.template pack<S>(a, row + i, rows - i, k0, k1);
      for (int r = 0; r < kRows; ++r) {
        const int high = sum_of(panel->rows.hi[r]);
        panel->high_sums[r] = -128 * high;
        panel->cross_sums[r] = -128 * (high + sum_of(panel->rows.lo[r]));
      }
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
        const __m512i x = quad(a.rows.hi[i], k), y = quad(a.rows.lo[i], k);
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
        add_bytes(sum, a.rows.scales[i], b.scales + v * kWidth, c + i * stride + v * kWidth, first);
      }
  }
  static TK_FN Lanes ended(Lanes sum) { return sum + Lanes(0.0f); }
  static void begin() {}
  static void end() {}

 private:
  static TK_FN int sum_of(const std::int8_t (&bytes)[block15::kBlock]) {
    const auto pairs = [&](int from) {
      return _mm512_maddubs_epi16(_mm512_set1_epi8(1), _mm512_load_si512(bytes + from));
    };
    return _mm512_reduce_add_epi32(_mm512_madd_epi16(_mm512_set1_epi16(1), _mm512_add_epi16(pairs(0), pairs(64))));
  }
  static TK_FN __m512i quad(const std::int8_t (&bytes)[block15::kBlock], int k) {
    std::int32_t four;
    std::memcpy(&four, bytes + 4 * k, 4);
    return _mm512_set1_epi32(four);
  }
};

// AMX multiplies signed bytes: tiles of 16 rows by 64 of the inner index, and of 64 by 16 columns. Two by two tiles of
// outputs share what is loaded; first the high parts' products, then the two cross ones.
template <Type S> struct Block15Amx {
  static constexpr int kSide = 16, kRows = 2 * kSide, kCols = 2 * kSide;
  static constexpr std::int64_t kInner = block15::kBlock;
  static constexpr std::int64_t kMostRows = 96;
  static constexpr int kSteps = block15::kBlock / 64;

  using Left = ByteRows<kRows>;
  struct Right {
    alignas(64) float scales[kCols];
    alignas(64) std::int32_t hi[2][kByteQuads][kSide], lo[2][kByteQuads][kSide];  // of either tile
  };
  static constexpr std::int64_t left_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Left); }
  static constexpr std::int64_t right_bytes(std::int64_t inner) { return inner == 0 ? 0 : sizeof(Right); }

  static void pack_left(const Factor& a, std::int64_t row, std::int64_t rows, std::int64_t k0, std::int64_t k1,
                        std::byte* to) {
    auto* panel = reinterpret_cast<Left*>(to);
    for (std::int64_t i = 0; i < rows; i += kRows, ++panel) panel->template pack<S>(a, row + i, rows - i, k0, k1);
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
        add_bytes(sum, a.scales[i], b.scales + j, c + i * stride + j, first);
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

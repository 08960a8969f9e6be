// The tile pattern: matrix products with every output one fma chain in ascending inner index. Cache blocking
// does not touch that order: between two blocks of the inner index the chain waits in memory as f32, unrounded.
//   B is packed for all threads, NC columns at a time, in panels of kCols; A per thread, MC rows, panels of kRows;
//   the innermost loop keeps kRows x kCols chains in registers.
#pragma once
#include <algorithm>

#include "contract/kernel_table.h"
#include "machines/cpu/lanes.h"
#include "machines/cpu/plan.h"
#include "machines/cpu/pool.h"
#include "patterns/names.h"

namespace tokitai::cpu::TK_ISA {

#if HWY_TARGET == HWY_AVX3
inline constexpr int kRows = 12, kVectors = 2;  // 24 of 32 registers hold chains
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kRows = 6, kVectors = 2;  // 12 of 16
#else
inline constexpr int kRows = 4, kVectors = 2;
#endif
inline constexpr int kCols = kVectors * kWidth;
inline constexpr std::int64_t kInnerBlock = 256;  // a B panel of this length stays in the first-level cache
inline constexpr std::int64_t kColBlock = 1024;
inline constexpr std::int64_t kMostRowBlock = 96;

// A matrix or its transpose, as (outer, inner) or (inner, outer) elements.
struct Factor {
  const View& view;
  bool transposed;
};

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// Packs `count` lines from `first` on, inner index [k0, k1), into panels of `panel` lines: for each inner index
// the panel's values side by side, absent lines as zero. `along` says that the lines lie along memory's rows.
template <Type S, int panel>
void pack(const View& from, bool along, std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t k1,
          float* to) {
  using Element = typename Memory<S>::Element;
  const auto* base = static_cast<const Element*>(from.data);
  const std::int64_t inner = k1 - k0;
  for (std::int64_t p = 0; p < count; p += panel, to += panel * inner) {
    const std::int64_t lines = std::min<std::int64_t>(panel, count - p);
    if (!along) {  // the panel's values are neighbours in memory
      std::int64_t k = 0;
      // A register holds more than the panel: what it writes too much is overwritten by the next, so not the last.
      if (panel < kWidth && lines == panel && first + p + kWidth <= from.cols())
        for (; k + 1 < inner; ++k)
          store(to + k * panel, Memory<S>::widen(base + (k0 + k) * from.row_stride + first + p));
      for (; k < inner; ++k) {
        const Element* row = base + (k0 + k) * from.row_stride + first + p;
        std::int64_t l = 0;
        if constexpr (panel % kWidth == 0)
          for (; l + kWidth <= lines; l += kWidth) store(to + k * panel + l, Memory<S>::widen(row + l));
        if (l == lines) continue;
        alignas(64) float rest[panel + kWidth] = {};
        for (std::int64_t r = l; r < lines; r += kWidth)
          store(rest + r, widen_first<S>(row + r, std::min<std::int64_t>(kWidth, lines - r)));
        for (; l < panel; ++l) to[k * panel + l] = rest[l];
      }
      continue;
    }
    for (int l = 0; l < panel; ++l) {  // each line is a row in memory: widen a register of it, scatter it
      if (l >= lines) {
        for (std::int64_t k = 0; k < inner; ++k) to[k * panel + l] = 0.0f;
        continue;
      }
      const Element* line = base + (first + p + l) * from.row_stride + k0;
      for (std::int64_t k = 0; k < inner; k += kWidth) {
        alignas(64) float wide[kWidth];
        const std::int64_t left = std::min<std::int64_t>(kWidth, inner - k);
        store(wide, left == kWidth ? Memory<S>::widen(line + k) : widen_first<S>(line + k, left));
        for (std::int64_t j = 0; j < left; ++j) to[(k + j) * panel + l] = wide[j];
      }
    }
  }
}

// kRows x kCols chains over `inner` steps, from what `c` holds, or from +0 at the first block.
TK_FN void chains(const float* a, const float* b, std::int64_t inner, float* c, std::int64_t stride, bool first) {
  Lanes acc[kRows][kVectors];
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; ++v) acc[i][v] = first ? Lanes(0.0f) : load(c + i * stride + v * kWidth);
  for (std::int64_t k = 0; k < inner; ++k) {
    Lanes right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = load(b + k * kCols + v * kWidth);
    for (int i = 0; i < kRows; ++i) {
      const Lanes left = a[k * kRows + i];
      for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(left, right[v], acc[i][v]);
    }
  }
  for (int i = 0; i < kRows; ++i)
    for (int v = 0; v < kVectors; ++v) store(c + i * stride + v * kWidth, acc[i][v]);
}

template <Type T>
void write_block(const View& out, const float* c, std::int64_t stride, std::int64_t row, std::int64_t col,
                 std::int64_t rows, std::int64_t cols) {
  using Element = typename Memory<T>::Element;
  for (std::int64_t i = 0; i < rows; ++i) {
    Element* to = static_cast<Element*>(out.data) + (row + i) * out.row_stride + col;
    for (std::int64_t j = 0; j < cols; j += kWidth) {
      const auto x = Memory<T>::narrow(load(c + i * stride + j));
      if (j + kWidth <= cols)
        Memory<T>::write(to + j, x);
      else
        write_first<T>(to + j, x, cols - j);
    }
  }
}

template <class D, Type S> struct TileMachine : D::Names {
  const Call& call;
  Pool& pool;
  Answer answer{};
  template <class O> Factor factor(O) const { return {call.operand(O::index), false}; }
  template <class O> Factor factor(Transposed<O>) const { return {call.operand(O::index), true}; }

  template <class C, class A, class B> void product(C, A left, B right) {
    const View& out = call.operand(C::index);
    const Factor a = factor(left), b = factor(right);
    const std::int64_t m = out.rows(), n = out.cols(), inner = a.transposed ? a.view.rows() : a.view.cols();
    // Rows per unit: a cache block at the most, and several units for every thread.
    const std::int64_t share = (m + 4 * pool.threads() - 1) / (4 * pool.threads());
    const std::int64_t row_block = std::min(kMostRowBlock, round_up(share, kRows));
    const std::int64_t widest = round_up(std::min(n, kColBlock), kCols);
    auto* packed_b = static_cast<float*>(pool.shared_scratch().reserve(static_cast<std::size_t>(widest * inner) * 4));
    if (packed_b == nullptr) return fail();
    for (int worker = 0; worker < pool.threads(); ++worker)
      if (pool.scratch(worker).reserve(static_cast<std::size_t>(row_block * (kInnerBlock + widest)) * 4) == nullptr)
        return fail();

    for (std::int64_t col = 0; col < n; col += kColBlock) {
      const std::int64_t cols = std::min(kColBlock, n - col);
      const std::int64_t panels = (cols + kCols - 1) / kCols;
      const std::int64_t blocks = (inner + kInnerBlock - 1) / kInnerBlock;
      // B: for each inner block its panels one after the other, in units of several panels.
      constexpr std::int64_t kPanels = 8;
      const std::int64_t groups = (panels + kPanels - 1) / kPanels;
      pool.run(blocks * groups, [&](std::int64_t unit, int) {
        const std::int64_t k0 = unit / groups * kInnerBlock, k1 = std::min(inner, k0 + kInnerBlock);
        const std::int64_t p = unit % groups * kPanels * kCols;
        pack<S, kCols>(b.view, b.transposed, col + p, std::min(kPanels * kCols, cols - p), k0, k1,
                       packed_b + k0 * panels * kCols + p * (k1 - k0));
      });
      pool.run((m + row_block - 1) / row_block, [&](std::int64_t unit, int worker) {
        auto* packed_a = static_cast<float*>(pool.scratch(worker).data());
        block(a, packed_a, packed_b, packed_a + row_block * kInnerBlock, out, unit * row_block,
              std::min(row_block, m - unit * row_block), col, cols, inner);
      });
    }
  }
  void fail() { answer = {Answer::out_of_memory}; }

  __attribute__((flatten)) static void block(const Factor& a, float* packed_a, const float* packed_b, float* c,
                                             const View& out, std::int64_t row, std::int64_t rows, std::int64_t col,
                                             std::int64_t cols, std::int64_t inner) {
    const std::int64_t padded_rows = round_up(rows, kRows), padded_cols = round_up(cols, kCols);
    for (std::int64_t k0 = 0; k0 < inner; k0 += kInnerBlock) {
      const std::int64_t k1 = std::min(inner, k0 + kInnerBlock);
      pack<S, kRows>(a.view, !a.transposed, row, rows, k0, k1, packed_a);
      const float* panel_b = packed_b + k0 * padded_cols;
      for (std::int64_t j = 0; j < padded_cols; j += kCols, panel_b += kCols * (k1 - k0))
        for (std::int64_t i = 0; i < padded_rows; i += kRows)
          chains(packed_a + i * (k1 - k0), panel_b, k1 - k0, c + i * padded_cols + j, padded_cols, k0 == 0);
    }
    if (out.type == S)
      write_block<S>(out, c, padded_cols, row, col, rows, cols);
    else
      write_block<Type::f32>(out, c, padded_cols, row, col, rows, cols);
  }
};

template <class D, Type S> Answer run_tile(const Call& call, Pool& pool) {
  TileMachine<D, S> m{{}, call, pool};
  D::tile(m);
  return m.answer;
}

}  // namespace tokitai::cpu::TK_ISA

// What the arithmetics of the tile pattern share on the cpu machine: what a product is, how lines of a factor are laid
// side by side, how outputs begin and end.
#pragma once
#include <algorithm>

#include "contract/kernel_table.h"
#include "machines/cpu/lanes.h"
#include "machines/cpu/pool.h"

namespace tokitai::cpu::TK_ISA {

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// A matrix or its transpose, seen as lines along the contracted index.
struct Factor {
  View view;
  bool down_columns;
};

// out = start + a b + bias.
struct Product {
  View out;
  Factor a, b;
  const View* start;  // nullptr: +0
  const View* bias;   // nullptr: none
  std::int64_t inner() const { return a.down_columns ? a.view.rows() : a.view.cols(); }
};

// Widens `count` lines from `first` on, inner index [k0, k1), into panels of `panel` lines: for each inner index the
// panel's values side by side, absent lines as zero. Each panel begins `stride` floats behind the last.
template <Type S, int panel>
void widen_lines(const Factor& from, std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t k1,
                 float* to, std::int64_t stride) {
  using Element = typename Memory<S>::Element;
  const View& view = from.view;
  const auto* base = static_cast<const Element*>(view.data);
  const std::int64_t inner = k1 - k0;
  for (std::int64_t p = 0; p < count; p += panel, to += stride) {
    const std::int64_t lines = std::min<std::int64_t>(panel, count - p);
    if (from.down_columns) {  // the panel's values are neighbours in memory
      std::int64_t k = 0;
      // A register holds more than the panel: what it writes too much is overwritten by the next, so not the last.
      if (panel < kWidth && lines == panel && first + p + kWidth <= view.cols())
        for (; k + 1 < inner; ++k)
          store(to + k * panel, Memory<S>::widen(base + (k0 + k) * view.row_stride + first + p));
      for (; k < inner; ++k) {
        const Element* row = base + (k0 + k) * view.row_stride + first + p;
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
      const Element* line = base + (first + p + l) * view.row_stride + k0;
      for (std::int64_t k = 0; k < inner; k += kWidth) {
        alignas(64) float wide[kWidth];
        const std::int64_t left = std::min<std::int64_t>(kWidth, inner - k);
        store(wide, left == kWidth ? Memory<S>::widen(line + k) : widen_first<S>(line + k, left));
        for (std::int64_t j = 0; j < left; ++j) to[(k + j) * panel + l] = wide[j];
      }
    }
  }
}

// `count` neighbours, read as floats.
template <Type T> void read_floats(const void* data, std::int64_t from, std::int64_t count, float* to) {
  const auto* at = static_cast<const typename Memory<T>::Element*>(data) + from;
  for (std::int64_t j = 0; j < count; j += kWidth)
    if (j + kWidth <= count)
      store(to + j, Memory<T>::widen(at + j));
    else {
      alignas(64) float rest[kWidth];
      store(rest, widen_first<T>(at + j, count - j));
      std::copy_n(rest, count - j, to + j);
    }
}
inline void read_floats(const View& view, std::int64_t from, std::int64_t count, float* to) {
  switch (view.type) {
    case Type::f16: return read_floats<Type::f16>(view.data, from, count, to);
    case Type::bf16: return read_floats<Type::bf16>(view.data, from, count, to);
    default: return read_floats<Type::f32>(view.data, from, count, to);
  }
}

// Ends a block of the arithmetic's sums, rounds them to their type and writes them; `bias` begins at the block's first
// column, or is null.
template <class P, Type T>
void write_block(const View& out, const float* c, std::int64_t stride, const float* bias, std::int64_t row,
                 std::int64_t col, std::int64_t rows, std::int64_t cols) {
  using Element = typename Memory<T>::Element;
  for (std::int64_t i = 0; i < rows; ++i) {
    Element* to = static_cast<Element*>(out.data) + (row + i) * out.row_stride + col;
    for (std::int64_t j = 0; j < cols; j += kWidth) {
      Lanes sum = P::ended(load(c + i * stride + j));
      if (bias != nullptr) sum = sum + load(bias + j);
      const auto x = Memory<T>::narrow(sum);
      if (j + kWidth <= cols)
        Memory<T>::write(to + j, x);
      else
        write_first<T>(to + j, x, cols - j);
    }
  }
}

}  // namespace tokitai::cpu::TK_ISA

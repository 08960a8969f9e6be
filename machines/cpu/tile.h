// The tile pattern: matrix products. Both factors are packed as the arithmetic wants them,
//   B for all threads, kColBlock columns at a time, in panels of kCols; A per thread, kMostRows rows, panels of kRows;
// and the arithmetic adds one block of the inner index after the other to kRows x kCols sums, which wait in memory as
// f32, unrounded.
#pragma once
#include "contract/arithmetic.h"
#include "machines/cpu/tile_block15.h"
#include "machines/cpu/tile_block15_bytes.h"
#include "machines/cpu/tile_chain.h"
#include "machines/cpu/tile_hopper.h"
#include "machines/cpu/tile_parts.h"
#include "patterns/groups.h"
#include "patterns/names.h"

namespace tokitai::cpu::TK_ISA {

inline constexpr std::int64_t kColBlock = 1024;

// P: one of the arithmetics, over operands of type S.
template <class P, Type S> struct TileLoops {
  const Product& product;
  Pool& pool;

  const View& out = product.out;
  const std::int64_t m = out.rows(), n = out.cols(), inner = product.inner();
  // Rows per unit: a cache block at the most, and several units for every thread.
  const std::int64_t share = (m + 4 * pool.threads() - 1) / (4 * pool.threads());
  const std::int64_t row_block = std::min(P::kMostRows, round_up(share, P::kRows));
  const std::int64_t widest = round_up(std::min(n, kColBlock), P::kCols);
  const std::int64_t whole = inner / P::kInner * P::kInner;
  const std::int64_t right_bytes =
      widest / P::kCols * (whole / P::kInner * P::right_bytes(P::kInner) + P::right_bytes(inner - whole));
  const std::int64_t left_bytes = row_block / P::kRows * P::left_bytes(std::min(inner, P::kInner));

  // What a product takes; those of fewer rows, columns and inner indices take no more.
  bool reserve() const {
    const std::int64_t bias_bytes = product.bias != nullptr ? 4 * widest : 0;
    if (pool.shared_scratch().reserve(static_cast<std::size_t>(right_bytes + bias_bytes)) == nullptr) return false;
    for (int worker = 0; worker < pool.threads(); ++worker)
      if (pool.scratch(worker).reserve(static_cast<std::size_t>(left_bytes + 4 * row_block * widest)) == nullptr)
        return false;
    return true;
  }

  // In memory that is reserved.
  void run() const {
    auto* shared = static_cast<std::byte*>(pool.shared_scratch().data());
    auto* bias = product.bias != nullptr ? reinterpret_cast<float*>(shared + right_bytes) : nullptr;
    for (std::int64_t col = 0; col < n; col += kColBlock) {
      const std::int64_t cols = std::min(kColBlock, n - col), panels = (cols + P::kCols - 1) / P::kCols;
      const std::int64_t blocks = (inner + P::kInner - 1) / P::kInner;
      if (bias != nullptr) read_floats(*product.bias, col, cols, bias);
      // B: for each inner block its panels one after the other, in units of several panels.
      constexpr std::int64_t kPanels = 8;
      const std::int64_t groups = (panels + kPanels - 1) / kPanels;
      pool.run(blocks * groups, [&](std::int64_t unit, int) {
        const std::int64_t k0 = unit / groups * P::kInner, k1 = std::min(inner, k0 + P::kInner);
        const std::int64_t p = unit % groups * kPanels;
        P::pack_right(product.b, col + p * P::kCols, std::min(kPanels * P::kCols, cols - p * P::kCols), k0, k1,
                      right(shared, panels, k0) + p * P::right_bytes(k1 - k0));
      });
      pool.run((m + row_block - 1) / row_block, [&](std::int64_t unit, int worker) {
        auto* left = static_cast<std::byte*>(pool.scratch(worker).data());
        block(left, shared, reinterpret_cast<float*>(left + left_bytes), bias, unit * row_block,
              std::min(row_block, m - unit * row_block), col, cols);
      });
    }
  }

 private:
  // Where a block's panels begin: all blocks before it are whole.
  static std::byte* right(std::byte* packed, std::int64_t panels, std::int64_t k0) {
    return packed + k0 / P::kInner * panels * P::right_bytes(P::kInner);
  }

  __attribute__((flatten)) void block(std::byte* left, std::byte* packed, float* c, const float* bias, std::int64_t row,
                                      std::int64_t rows, std::int64_t col, std::int64_t cols) const {
    const std::int64_t padded_rows = round_up(rows, P::kRows), padded_cols = round_up(cols, P::kCols);
    const bool from_start = product.start != nullptr;
    if (from_start || inner == 0) std::fill_n(c, padded_rows * padded_cols, 0.0f);
    if (from_start)
      for (std::int64_t i = 0; i < rows; ++i)
        read_floats(*product.start, (row + i) * product.start->row_stride + col, cols, c + i * padded_cols);
    P::begin();
    for (std::int64_t k0 = 0; k0 < inner; k0 += P::kInner) {
      const std::int64_t k1 = std::min(inner, k0 + P::kInner);
      P::pack_left(product.a, row, rows, k0, k1, left);
      const std::byte* panel = right(packed, padded_cols / P::kCols, k0);
      for (std::int64_t j = 0; j < padded_cols; j += P::kCols, panel += P::right_bytes(k1 - k0))
        for (std::int64_t i = 0; i < padded_rows; i += P::kRows)
          P::multiply(left + i / P::kRows * P::left_bytes(k1 - k0), panel, k1 - k0, c + i * padded_cols + j,
                      padded_cols, k0 == 0 && !from_start);
    }
    P::end();
    if (out.type == S)
      write_block<P, S>(out, c, padded_cols, bias, row, col, rows, cols);
    else
      write_block<P, Type::f32>(out, c, padded_cols, bias, row, col, rows, cols);
  }
};

template <class D, Type S> struct TileMachine : D::Names {
  const Call& call;
  Pool& pool;
  Answer answer{};
  template <class O> Factor left(O) const { return {call.operand(O::index), false}; }
  template <class O> Factor left(Transposed<O>) const { return {call.operand(O::index), true}; }
  template <class O> Factor right(O) const { return {call.operand(O::index), true}; }
  template <class O> Factor right(Transposed<O>) const { return {call.operand(O::index), false}; }
  template <class O> const View* given(O) const {
    return call.operand(O::index).present() ? &call.operand(O::index) : nullptr;
  }
  static const View* given(Nothing) { return nullptr; }

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  void product(C, A x, B y, Start start = {}, Bias bias = {}, How how = {}) {
    const Product p{call.operand(C::index), left(x), right(y), given(start), given(bias)};
    answer = multiply(Once{p}, how);
  }
  // The same for each group of rows, one after the other.
  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  void grouped_product(C, A x, B y, Offsets, Start start = {}, How how = {}) {
    const Groups groups(call, describe(call));
    if (const std::int64_t bad = groups.first_bad(); bad >= 0)
      answer = {Answer::refused, bad};
    else
      answer = multiply(PerGroup{{call.operand(C::index), left(x), right(y), given(start), nullptr}, groups}, how);
  }

 private:
  // What is multiplied: a product that takes as much memory as any, and each of them.
  struct Once {
    const Product& all;
    const Product& largest() const { return all; }
    template <class F> void each(const F& f) const { f(all); }
  };
  struct PerGroup {
    Product all;
    const Groups& groups;
    Product largest() const {
      Product one = all;
      (one.out.rank == 3 ? one.a.view.shape[0] : one.out.shape[0]) = groups.most_rows();
      if (one.out.rank == 3) one.out = groups.of(one.out, 0);
      return one;
    }
    template <class F> void each(const F& f) const {
      for (std::int64_t g = 0; g < groups.count(); ++g) {
        const View start = all.start != nullptr ? groups.of(*all.start, g) : View{};
        const Product one{groups.of(all.out, g),
                          {groups.of(all.a.view, g), all.a.down_columns},
                          {groups.of(all.b.view, g), all.b.down_columns},
                          all.start != nullptr ? &start : nullptr,
                          nullptr};
        if (one.out.rows() > 0) f(one);
      }
    }
  };

  template <class Products, class How> Answer multiply(const Products& products, How) const {
    if constexpr (How::index >= 0) {
      const auto arithmetic = static_cast<Arithmetic>(call.option(How::index).i);
      if (arithmetic == Arithmetic::block15) return block15(products);
      if constexpr (S != Type::f32)
        if (arithmetic == Arithmetic::hopper) return multiply_by<Hopper<S>>(products);
    }
    return multiply_by<Chain<S>>(products);
  }
  template <class P, class Products> Answer multiply_by(const Products& products) const {
    if (!TileLoops<P, S>{products.largest(), pool}.reserve()) return {Answer::out_of_memory};
    products.each([&](const Product& one) { TileLoops<P, S>{one, pool}.run(); });
    return {};
  }
  template <class Products> Answer block15(const Products& p) const {
#if HWY_TARGET == HWY_AVX3
    switch (pool.integer_unit()) {
      case IntegerUnit::amx:
        if (tiles_granted()) return multiply_by<Block15Amx<S>>(p);
        [[fallthrough]];
      case IntegerUnit::vnni: return multiply_by<Block15Vnni<S>>(p);
      case IntegerUnit::plain: break;
    }
#endif
    return multiply_by<Block15<S>>(p);
  }
};

template <class D, Type S> Answer run_tile(const Call& call, Pool& pool) {
  TileMachine<D, S> m{{}, call, pool};
  D::tile(m);
  return m.answer;
}

}  // namespace tokitai::cpu::TK_ISA

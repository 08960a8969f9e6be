// The tile pattern over a number type. The real number that an output stands for does not depend on the arithmetic: one
// chain gives it. Where both factors are finite f16 the exact machine adds integers instead: a product of two f16 is a
// multiple of 2^-48 below 2^32, so 128 bits hold 2^47 of them. The bound machine follows each arithmetic (product.h).
#pragma once
#include <cmath>
#include <optional>
#include <type_traits>

#include "contract/arithmetic.h"
#include "machines/analysis/elements.h"
#include "machines/analysis/interval.h"
#include "machines/analysis/product.h"
#include "patterns/groups.h"
#include "patterns/names.h"

namespace tokitai::analysis {

// A matrix or its transpose, seen as lines along the contracted index.
struct Factor {
  int operand;
  bool down_columns;
  std::int64_t first = 0;  // of its rows in the operand
  std::int64_t row(std::int64_t line, std::int64_t k) const { return first + (down_columns ? k : line); }
  std::int64_t col(std::int64_t line, std::int64_t k) const { return down_columns ? line : k; }
};

template <class N, class D> struct TileMachine : D::Names {
  const Call& call;
  Data<N> data;
  template <class O> Factor left(O) const { return {O::index, false}; }
  template <class O> Factor left(Transposed<O>) const { return {O::index, true}; }
  template <class O> Factor right(O) const { return {O::index, true}; }
  template <class O> Factor right(Transposed<O>) const { return {O::index, false}; }
  template <class O> bool has(O) const { return O::index >= 0 && call.operand(O::index).present(); }
  template <class O> Arithmetic arithmetic_of(O) const { return static_cast<Arithmetic>(call.option(O::index).i); }
  static Arithmetic arithmetic_of(Nothing) { return Arithmetic::chain; }

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  void product(C, A x, B y, Start start = {}, Bias bias = {}, How how = {}) {
    const View& out = data.view(C::index);
    const Factor a = left(x), b = right(y);
    multiply(C{}, out.rows(), 0, a, b, inner_of(data.view(a.operand), a), start, bias, arithmetic_of(how));
  }
  // The same for each group of rows.
  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  void grouped_product(C, A x, B y, Offsets, Start start = {}, How how = {}) {
    const Groups groups(call, describe(call));
    Factor a = left(x), b = right(y);
    for (std::int64_t g = 0; g < groups.count(); ++g) {
      const auto first = [&](const View& view) { return view.rank == 3 ? g * view.shape[1] : groups.offset(g); };
      a.first = first(data.view(a.operand));
      b.first = first(data.view(b.operand));
      const View& out = data.view(C::index);
      multiply(C{}, groups.of(out, g).rows(), first(out), a, b, inner_of(groups.of(data.view(a.operand), g), a), start,
               Nothing{}, arithmetic_of(how));
    }
  }

 private:
  static std::int64_t inner_of(const View& view, Factor factor) {
    return factor.down_columns ? view.rows() : view.cols();
  }
  // `rows` of the output, from `first` on.
  template <class C, class Start, class Bias>
  void multiply(C, std::int64_t rows, std::int64_t first, Factor a, Factor b, std::int64_t inner, Start start,
                Bias bias, Arithmetic how) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < data.view(C::index).cols(); ++j) {
        N sum = output(a, b, i, j, inner, has(start) ? data.read(Start::index, first + i, j) : N(0.0f), how);
        if (has(bias)) sum = sum + data.read(Bias::index, j);
        data.write(C::index, first + i, j, std::move(sum));
      }
  }
  N output(Factor a, Factor b, std::int64_t i, std::int64_t j, std::int64_t inner, N sum, Arithmetic how) const {
    if constexpr (std::is_same_v<N, Interval>)
      if (auto exact = exact_sum(a, b, i, j, inner)) return sum + Interval::scaled(*exact, -48);
    if constexpr (std::is_same_v<N, Bound>)
      if (how != Arithmetic::chain) {
        const Line p = line(a, i, inner), q = line(b, j, inner);
        if (how == Arithmetic::block15) return block15_bound(p, q, sum);
        return hopper_bound(p, q, sum, data.view(a.operand).type);
      }
    for (std::int64_t k = 0; k < inner; ++k) sum = fma(element(a, i, k), element(b, j, k), sum);
    return sum;
  }
  N element(Factor factor, std::int64_t line, std::int64_t k) const {
    return data.read(factor.operand, factor.row(line, k), factor.col(line, k));
  }
  Line line(Factor factor, std::int64_t number, std::int64_t inner) const {
    Line all;
    for (std::int64_t k = 0; k < inner; ++k) all.push_back(element(factor, number, k));
    return all;
  }
  // The sum of products in units of 2^-48, or nothing where an element is not a finite f16 in memory.
  std::optional<__int128> exact_sum(Factor a, Factor b, std::int64_t i, std::int64_t j, std::int64_t inner) const {
    for (const Factor factor : {a, b})
      if (!data.in_memory(factor.operand) || data.view(factor.operand).type != Type::f16) return {};
    __int128 sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      const float x = reference::read(data.view(a.operand), a.row(i, k), a.col(i, k));
      const float y = reference::read(data.view(b.operand), b.row(j, k), b.col(j, k));
      if (!std::isfinite(x) || !std::isfinite(y)) return {};
      sum += static_cast<__int128>(static_cast<std::int64_t>(x * 0x1p24f)) * static_cast<std::int64_t>(y * 0x1p24f);
    }
    return sum;
  }
};

template <class N, class D> void run_tile(const Call& call, const Sets<N>& given, Sets<N>& made) {
  made.assign(1, {});
  TileMachine<N, D> m{{}, call, Data<N>(call.operands, given, made, 0)};
  D::tile(m);
}

}  // namespace tokitai::analysis

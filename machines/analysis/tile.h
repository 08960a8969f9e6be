// The tile pattern over a number type: one fma chain per output, inner index ascending. Where both factors are finite
// f16 the exact machine adds integers instead: a product of two f16 is a multiple of 2^-48 below 2^32, so 128 bits hold
// 2^47 of them.
#pragma once
#include <cmath>
#include <optional>
#include <type_traits>

#include "machines/analysis/elements.h"
#include "machines/analysis/interval.h"
#include "patterns/names.h"

namespace tokitai::analysis {

struct Factor {  // element (i, k) of a matrix or of its transpose
  int operand;
  bool transposed;
  std::int64_t row(std::int64_t i, std::int64_t k) const { return transposed ? k : i; }
  std::int64_t col(std::int64_t i, std::int64_t k) const { return transposed ? i : k; }
};

template <class N, class D> struct TileMachine : D::Names {
  const Call& call;
  Data<N> data;
  template <class O> Factor factor(O) const { return {O::index, false}; }
  template <class O> Factor factor(Transposed<O>) const { return {O::index, true}; }

  template <class C, class A, class B> void product(C, A left, B right) {
    const View& out = data.view(C::index);
    const Factor a = factor(left), b = factor(right);
    const View& first = data.view(a.operand);
    const std::int64_t inner = a.transposed ? first.rows() : first.cols();
    for (std::int64_t i = 0; i < out.rows(); ++i)
      for (std::int64_t j = 0; j < out.cols(); ++j) {
        if constexpr (std::is_same_v<N, Interval>)
          if (auto sum = exact_sum(a, b, i, j, inner)) {
            data.write(C::index, i, j, Interval::scaled(*sum, -48));
            continue;
          }
        N acc(0.0f);
        for (std::int64_t k = 0; k < inner; ++k)
          acc =
              fma(data.read(a.operand, a.row(i, k), a.col(i, k)), data.read(b.operand, b.row(k, j), b.col(k, j)), acc);
        data.write(C::index, i, j, std::move(acc));
      }
  }

  // The sum of products in units of 2^-48, or nothing where an element is not a finite f16 in memory.
  std::optional<__int128> exact_sum(Factor a, Factor b, std::int64_t i, std::int64_t j, std::int64_t inner) const {
    for (const Factor factor : {a, b})
      if (!data.in_memory(factor.operand) || data.view(factor.operand).type != Type::f16) return {};
    __int128 sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      const float x = reference::read(data.view(a.operand), a.row(i, k), a.col(i, k));
      const float y = reference::read(data.view(b.operand), b.row(k, j), b.col(k, j));
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

// The tile pattern as the three loops of the textbook: one fma chain from +0 per output, inner index ascending.
#pragma once
#include "contract/kernel_table.h"
#include "machines/reference/memory.h"
#include "patterns/names.h"

namespace tokitai::reference {

struct Factor {  // element (i, k) of a matrix or of its transpose
  const View& view;
  bool transposed;
  float operator()(std::int64_t i, std::int64_t k) const { return transposed ? read(view, k, i) : read(view, i, k); }
  std::int64_t inner() const { return transposed ? view.rows() : view.cols(); }
};

template <class D> struct TileMachine : D::Names {
  const Call& call;
  template <class O> Factor factor(O) const { return {call.operand(O::index), false}; }
  template <class O> Factor factor(Transposed<O>) const { return {call.operand(O::index), true}; }

  template <class C, class A, class B> void product(C, A left, B right) const {
    const View& out = call.operand(C::index);
    const Factor a = factor(left), b = factor(right);
    for (std::int64_t i = 0; i < out.rows(); ++i)
      for (std::int64_t j = 0; j < out.cols(); ++j) {
        float acc = 0.0f;
        for (std::int64_t k = 0; k < a.inner(); ++k) acc = fma(a(i, k), b(k, j), acc);
        write(out, i, j, acc);
      }
  }
};

template <class D> Answer run_tile(const Call& call) {
  TileMachine<D> m{{}, call};
  D::tile(m);
  return {};
}

}  // namespace tokitai::reference

// Softmax over each row and its gradient (the row pattern).
//   forward:  y = exp(x - max(x)) / sum(exp(x - max(x)))     backward: dx = y * (dy - sum(dy*y))
// exp(x - top) stays in f32 until the end: rounding it to storage in between would cost half the digits.
#pragma once
#include "numerics/elementary.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::softmax {

struct Forward {
  static constexpr char name[] = "softmax.forward";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> x{};
    static constexpr Storage<1> y{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto x = m.read(m.x);
    auto top = m.max([&](auto i) { return x[i]; });
    auto e = m.make(m.y);
    auto total = m.sum([&](auto i) { return e.keep(i, exp_nonpositive(x[i] - top)); });
    auto q = 1.0f / total;
    m.store(m.y, [&](auto i) { return e[i] * q; });
  }
};

struct Backward {
  static constexpr char name[] = "softmax.backward";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> dy{};
    static constexpr Storage<1> y{};
    static constexpr Storage<2> dx{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto dy = m.read(m.dy);
    auto y = m.read(m.y);
    auto dot = m.sum_fma([&](auto i) { return product(dy[i], y[i]); });
    m.store(m.dx, [&](auto i) { return y[i] * (dy[i] - dot); });
  }
};

using Operators = Family<Forward, Backward>;

}  // namespace tokitai::softmax

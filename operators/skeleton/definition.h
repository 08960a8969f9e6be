// A family to copy: each row over its root mean square (the row pattern). CONTRIBUTING.md says how.
//   rstd = 1/sqrt(sum(x^2)/n + eps)     y = x*rstd
// The sum is one fma chain per lane; rstd stays f32, as a gradient would need it.
#pragma once
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::skeleton {

struct Forward {
  static constexpr char name[] = "skeleton.forward";
  using Pattern = patterns::Row;
  struct Names {  // positions in the contract's tables (skeleton.cpp)
    static constexpr Storage<0> x{};
    static constexpr Storage<1> y{};
    static constexpr Single<2> rstd{};
    static constexpr Scalar<0> eps{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto x = m.load(m.x);
    auto mean_square = m.sum_fma([&](auto i) { return product(x[i], x[i]); }) / m.cols();
    auto rstd = 1.0f / sqrt(mean_square + m.value(m.eps));
    m.put(m.rstd, rstd);
    m.store(m.y, [&](auto i) { return x[i] * rstd; });
  }
};

using Operators = Family<Forward>;

}  // namespace tokitai::skeleton

// RMSNorm and its gradient, once, for every machine (the row pattern); with a residual, of the sum of both.
//   forward:  s = x, or RN(x + residual)    rstd = 1/sqrt(sum(s^2)/n + eps)    y = s*rstd*gamma
//   backward: with xhat = x*rstd and h = dy*gamma:  dx = rstd*(h - xhat*sum(h*xhat)/n), plus dsum where it is given
// The sum is rounded before it is normalised: the backward, and who reads the sum later, see the same numbers.
#pragma once
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::rmsnorm {

struct Forward {
  static constexpr char name[] = "rmsnorm.forward";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> x{};
    static constexpr StorageOrSingle<1> gamma{};
    static constexpr Storage<2> y{};
    static constexpr Single<3> rstd{};
    static constexpr StorageOrSingle<4> residual{};
    static constexpr StorageOrSingle<5> sum{};  // Names::sum below, as m.sum is the verb
    static constexpr Scalar<0> eps{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto x = m.read(m.x);
    if (m.has(m.residual)) {
      auto residual = m.read(m.residual);
      auto sum = m.make(Names::sum);
      auto squares = m.sum_fma([&](auto i) {
        auto s = sum.keep(i, m.rounded(Names::sum, x[i] + residual[i]));
        return product(s, s);
      });
      m.store(Names::sum, [&](auto i) { return sum[i]; });  // over x or the residual: both have been read
      normalise(m, sum, squares);
    } else {
      normalise(m, x, m.sum_fma([&](auto i) { return product(x[i], x[i]); }));
    }
  }
  template <class M, class Row, class N> static TK_FN void normalise(M& m, const Row& x, N squares) {
    auto gamma = m.columns(m.gamma);
    auto rstd = 1.0f / sqrt(squares / m.cols() + m.value(m.eps));
    m.put(m.rstd, rstd);
    m.store(m.y, [&](auto i) { return (x[i] * rstd) * gamma[i]; });
  }
};

struct Backward {
  static constexpr char name[] = "rmsnorm.backward";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> dy{};
    static constexpr StorageOrSingle<1> x{};
    static constexpr StorageOrSingle<2> gamma{};
    static constexpr Single<3> rstd{};
    static constexpr StorageOrSingle<4> dx{};
    static constexpr StorageOrSingle<5> dgamma{};
    static constexpr StorageOrSingle<6> dsum{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto dy = m.load(m.dy);
    auto x = m.read(m.x);
    auto gamma = m.columns(m.gamma);
    auto rstd = m.number(m.rstd);
    auto xhat = m.make(m.dx);
    auto c = m.sum_fma([&](auto i) { return product(dy[i] * gamma[i], xhat.keep(i, x[i] * rstd)); }) / m.cols();
    auto inner = [&](auto i) { return fma(-xhat[i], c, dy[i] * gamma[i]); };
    if (m.has(m.dsum)) {
      auto dsum = m.read(m.dsum);
      m.store(m.dx, [&](auto i) { return fma(rstd, inner(i), dsum[i]); });
    } else {
      m.store(m.dx, [&](auto i) { return rstd * inner(i); });
    }
    m.column_sums(m.dgamma, SumFma{[&](auto i) { return product(dy[i], xhat[i]); }});
  }
};

using Operators = Family<Forward, Backward>;

}  // namespace tokitai::rmsnorm

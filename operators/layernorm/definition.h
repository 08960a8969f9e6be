// LayerNorm and its gradient, once, for every machine (the row pattern); with a residual, of the sum of both.
//   forward:  mean = sum(x)/n   rstd = 1/sqrt(sum((x-mean)^2)/n + eps)   y = (x-mean)*rstd*gamma + beta
//             with a residual x stands for RN(x + residual), as the sum is stored
//   backward: with xhat = (x-mean)*rstd and h = dy*gamma:  dx = rstd*(h - sum(h)/n - xhat*sum(h*xhat)/n), plus dsum
//             where it is given: what reaches the sum from elsewhere
// The variance is two-pass: one pass over sum(x^2) would cancel. mean and rstd stay f32 for the backward.
#pragma once
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::layernorm {

struct Forward {
  static constexpr char name[] = "layernorm.forward";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> x{};
    static constexpr Storage<1> gamma{};
    static constexpr Storage<2> beta{};
    static constexpr Storage<3> y{};
    static constexpr Single<4> mean{};
    static constexpr Single<5> rstd{};
    static constexpr StorageOrSingle<6> residual{};
    static constexpr StorageOrSingle<7> sum{};  // Names::sum below, as m.sum is the verb
    static constexpr Scalar<0> eps{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto x = m.read(m.x);
    if (m.has(m.residual)) {
      auto residual = m.read(m.residual);
      auto sum = m.make(Names::sum);
      auto total = m.sum([&](auto i) { return sum.keep(i, m.rounded(Names::sum, x[i] + residual[i])); });
      m.store(Names::sum, [&](auto i) { return sum[i]; });  // over x or the residual: both have been read
      normalise(m, sum, total);
    } else {
      normalise(m, x, m.sum([&](auto i) { return x[i]; }));
    }
  }
  template <class M, class Row, class N> static TK_FN void normalise(M& m, const Row& x, N total) {
    auto n = m.cols();
    auto mean = total / n;
    auto var = m.sum_fma([&](auto i) {
      auto d = x[i] - mean;
      return product(d, d);
    }) / n;
    auto rstd = 1.0f / sqrt(var + m.value(m.eps));
    m.put(m.mean, mean);
    m.put(m.rstd, rstd);
    auto gamma = m.columns(m.gamma);
    auto beta = m.columns(m.beta);
    m.store(m.y, [&](auto i) { return fma((x[i] - mean) * rstd, gamma[i], beta[i]); });
  }
};

struct Backward {
  static constexpr char name[] = "layernorm.backward";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> dy{};
    static constexpr StorageOrSingle<1> x{};
    static constexpr Storage<2> gamma{};
    static constexpr Single<3> mean{};
    static constexpr Single<4> rstd{};
    static constexpr StorageOrSingle<5> dx{};
    static constexpr StorageOrSingle<6> dgamma{};
    static constexpr StorageOrSingle<7> dbeta{};
    static constexpr StorageOrSingle<8> dsum{};
  };
  template <class M> static TK_FN void row(M& m) {
    auto dy = m.load(m.dy);
    auto x = m.read(m.x);
    auto gamma = m.columns(m.gamma);
    auto n = m.cols();
    auto mean = m.number(m.mean);
    auto rstd = m.number(m.rstd);
    auto xhat = m.make(m.dx);
    auto [sum_h, sum_h_xhat] =
        m.reduce(Sum{[&](auto i) { return dy[i] * gamma[i]; }},
                 SumFma{[&](auto i) { return product(dy[i] * gamma[i], xhat.keep(i, (x[i] - mean) * rstd)); }});
    auto c1 = sum_h / n;
    auto c2 = sum_h_xhat / n;
    auto inner = [&](auto i) { return fma(-xhat[i], c2, dy[i] * gamma[i] - c1); };
    if (m.has(m.dsum)) {
      auto dsum = m.read(m.dsum);
      m.store(m.dx, [&](auto i) { return fma(rstd, inner(i), dsum[i]); });
    } else {
      m.store(m.dx, [&](auto i) { return rstd * inner(i); });
    }
    m.column_sums(m.dgamma, SumFma{[&](auto i) { return product(dy[i], xhat[i]); }},  //
                  m.dbeta, Sum{[&](auto i) { return dy[i]; }});
  }
};

using Operators = Family<Forward, Backward>;

}  // namespace tokitai::layernorm

// Cross-entropy of logits against labels: loss and gradient from one read of the logits (the row pattern).
//   loss = log(sum(exp(x - top))) + (top - x[label])      grad = softmax(x) - onehot(label)
// with label smoothing, z-loss and a scale on the gradient, which reduction=mean divides by the rows that count.
// (log(s) + top) - x[label] would lose the loss of confident rows entirely: at top = 1000 a loss of 6.1e-6 becomes 0.
#pragma once
#include "numerics/elementary.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::cross_entropy {

struct ForwardBackward {
  static constexpr char name[] = "cross_entropy.forward_backward";
  using Pattern = patterns::Row;
  struct Names {
    static constexpr Storage<0> logits{};
    static constexpr Integer<1> labels{};
    static constexpr Single<2> loss{};
    static constexpr Storage<3> grad{};
    static constexpr Single<4> mean_loss{};
    static constexpr Integer<5> count{};
    static constexpr IntegerOption<0> ignore_index{};
    static constexpr Scalar<0> a{};  // label_smoothing
    static constexpr Scalar<1> b{};  // 1 - label_smoothing
    static constexpr Scalar<2> z{};  // z_loss
    static constexpr Scalar<3> z2{};
    static constexpr Scalar<4> scale{};
    static constexpr Scalar<5> mean{};  // 1: reduction=mean, else 0
  };

  // Every row is asked both before anything is written.
  template <class M> static TK_FN auto counts(const M& m) {
    return !(m.has(m.ignore_index) & (m.integer(m.labels) == m.value(m.ignore_index)));
  }
  template <class M> static TK_FN auto valid(const M& m) {
    auto label = m.integer(m.labels);
    return ((label >= 0) & (label < m.width())) | !counts(m);
  }
  template <class M> static TK_FN void row(M& m) {
    auto x = m.read(m.logits);
    auto label = m.integer(m.labels);
    auto live = counts(m);
    auto n = m.cols();
    auto a = m.value(m.a), b = m.value(m.b), z = m.value(m.z), scale = m.value(m.scale);
    if (m.value(m.mean) != 0.0f) scale = scale / static_cast<float>(m.counted());

    auto top = m.max([&](auto i) { return x[i]; });
    auto at_label = m.pick(x, label);
    auto smooth = a != 0.0f ? m.sum([&](auto i) { return x[i] - top; }) : top;
    auto e = m.make(m.grad);
    auto s = m.sum([&](auto i) { return e.keep(i, exp_nonpositive(x[i] - top)); });
    auto q = 1.0f / s;
    auto ls = log(s);
    auto nll = ls + (top - at_label);
    auto lse = ls + top;
    auto loss = nll;
    if (a != 0.0f) loss = fma(a, ls - smooth / n, b * nll);
    if (z != 0.0f) loss = fma(z * lse, lse, loss);
    m.put(m.loss, select(live, loss, 0.0f));

    decltype(lse) w = 1.0f;
    if (z != 0.0f) w = fma(m.value(m.z2), lse, 1.0f);
    auto t = a / n;
    auto gradient = [&](auto i, auto target) { return select(live, scale * fma(e[i] * q, w, -target), 0.0f); };
    m.store_but(m.grad, label, [&](auto i) { return gradient(i, t + b); }, [&](auto i) { return gradient(i, t); });
  }
  // Once, after every row: the mean over the rows that count.
  template <class M> static TK_FN void finish(M& m) {
    m.put_once(m.mean_loss, m.total(m.loss) / static_cast<float>(m.counted()));
    m.put_once(m.count, m.counted());
  }
};

using Operators = Family<ForwardBackward>;

}  // namespace tokitai::cross_entropy

// One AdamW step (the each pattern), over one tensor or a list of them in one launch.
//   m' = beta1*m + (1-beta1)*g    v' = beta2*v + (1-beta2)*g^2
//   theta' = theta - lr*(mhat/(sqrt(vhat)+eps) + weight_decay*theta)
// Moments are f32; theta is rounded once to storage, or kept beside it as f32 master weights.
#pragma once
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::adamw {

struct Step {
  static constexpr char name[] = "adamw.step";
  using Pattern = patterns::Each;
  static constexpr bool list = true;
  struct Names {
    static constexpr Storage<0> theta{};
    static constexpr Single<1> m{};
    static constexpr Single<2> v{};
    static constexpr Storage<3> grad{};
    static constexpr Single<4> master{};
    static constexpr Once<5> scale{};
    static constexpr Once<6> norm{};
    static constexpr Once<7> outcome{};
    static constexpr IntegerOption<7> skip_nonfinite{};
    static constexpr Scalar<0> neg_lr{};
    static constexpr Scalar<1> beta1{};
    static constexpr Scalar<2> beta2{};
    static constexpr Scalar<3> eps{};
    static constexpr Scalar<4> weight_decay{};
    static constexpr Scalar<5> c1{};  // 1 - beta1
    static constexpr Scalar<6> c2{};  // 1 - beta2
    static constexpr Scalar<7> k1{};  // 1 / (1 - beta1^t)
    static constexpr Scalar<8> k2{};  // 1 / (1 - beta2^t)
    static constexpr Scalar<9> grad_scale{};
  };

  // A grad_scale of 1 changes no bit, so it needs no case of its own.
  template <class M> static TK_FN auto gradient(M& e) {
    return e.load(e.grad) * (e.has(e.scale) ? e.value(e.grad_scale) * e.once(e.scale) : e.value(e.grad_scale));
  }

  // Infinity and NaN alone make v - v other than zero.
  template <class V> static TK_FN auto finite(const V& v) {
    return v - v == 0.0f;  // NOLINT(misc-redundant-expression)
  }
  // Where the norm is known the gradients need not be asked: one pass.
  template <class M> static TK_FN bool checked_once(const M& e) {
    return e.has(e.norm) && e.value(e.skip_nonfinite) != 0;
  }
  template <class M> static TK_FN auto valid_once(const M& e) { return finite(e.once(e.norm)); }
  template <class M> static TK_FN bool checked(const M& e) { return !e.has(e.norm) && e.value(e.skip_nonfinite) != 0; }
  template <class M> static TK_FN auto valid(M& e) { return finite(gradient(e)); }
  template <class M> static TK_FN void element(M& e) {
    auto g = gradient(e);
    auto m = fma(e.value(e.c1), g, e.value(e.beta1) * e.load(e.m));
    auto v = fma(e.value(e.c2), g * g, e.value(e.beta2) * e.load(e.v));
    auto theta = e.has(e.master) ? e.load(e.master) : e.load(e.theta);
    auto direction = (m * e.value(e.k1)) / (sqrt(v * e.value(e.k2)) + e.value(e.eps));
    auto update = fma(e.value(e.weight_decay), theta, direction);
    auto next = fma(e.value(e.neg_lr), update, theta);
    e.store(e.m, m);
    e.store(e.v, v);
    if (e.has(e.master)) e.store(e.master, next);
    e.store(e.theta, next);
  }
  template <class M> static TK_FN void finish(M& e) { e.put_once(e.outcome, e.skipped()); }
};

using Operators = Family<Step>;

}  // namespace tokitai::adamw

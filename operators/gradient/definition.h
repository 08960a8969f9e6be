// The norm of all gradients of a list (a sum over the list), and the factor that clips it.
//   norm = sqrt(sum(grad^2)) * grad_scale     scale = min(1, max_norm / (norm + 1e-6))
// Both stay where they are computed, for adamw.step to read them there.
#pragma once
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::gradient {

struct Norm {
  static constexpr char name[] = "gradient.norm";
  using Pattern = patterns::ListSum;
  struct Names {
    static constexpr Storage<0> grad{};
    static constexpr Once<1> norm{};
    static constexpr Once<2> scale{};
    static constexpr Scalar<0> max_norm{};
    static constexpr Scalar<1> grad_scale{};
  };
  template <class M> static TK_FN auto term(M& e) {
    auto g = e.load(e.grad);
    return product(g, g);
  }
  template <class M> static TK_FN void finish(M& m) {
    auto norm = sqrt(m.total()) * m.value(m.grad_scale);
    auto s = m.value(m.max_norm) / (norm + 0x1.0c6f7ap-20f);
    m.put_once(m.norm, norm);
    m.put_once(m.scale, select(s > 1.0f, 1.0f, s));  // NaN stays
  }
};

using Operators = Family<Norm>;

}  // namespace tokitai::gradient

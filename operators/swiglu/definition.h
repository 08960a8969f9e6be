// SwiGLU, the gated activation of a feed-forward layer, and its gradient (the each pattern).
//   forward:  h = (g*sigmoid(g)) * u     backward: du = dh*(g*sigmoid(g)), dg = (dh*u) * sigmoid(g)*(1 +
//   g*(1-sigmoid(g)))
// gate and up may be two views of one tensor, side by side in its rows.
#pragma once
#include "numerics/elementary.h"
#include "patterns/names.h"

namespace tokitai::swiglu {

struct Forward {
  static constexpr char name[] = "swiglu.forward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> gate{};
    static constexpr Storage<1> up{};
    static constexpr Storage<2> h{};
  };
  template <class M> static TK_FN void element(M& e) {
    auto g = e.load(e.gate);
    auto u = e.load(e.up);
    auto sigmoid = 1.0f / (1.0f + exp(-g));
    e.store(e.h, (g * sigmoid) * u);
  }
};

struct Backward {
  static constexpr char name[] = "swiglu.backward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> dh{};
    static constexpr Storage<1> gate{};
    static constexpr Storage<2> up{};
    static constexpr Storage<3> dgate{};
    static constexpr Storage<4> dup{};
  };
  template <class M> static TK_FN void element(M& e) {
    auto dh = e.load(e.dh);
    auto g = e.load(e.gate);
    auto u = e.load(e.up);
    auto sigmoid = 1.0f / (1.0f + exp(-g));
    e.store(e.dup, dh * (g * sigmoid));
    e.store(e.dgate, (dh * u) * (sigmoid * fma(g, 1.0f - sigmoid, 1.0f)));
  }
};

using Operators = Family<Forward, Backward>;

}  // namespace tokitai::swiglu

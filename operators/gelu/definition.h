// GELU, with the error function or with tanh in its place, and its gradient (the each pattern).
//   erf:  y = x/2 * (1 + erf(x/sqrt(2)))
//   tanh: y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
// For tanh x is held to +-32, where the cube cannot overflow and tanh is 1 long since.
#pragma once
#include "numerics/elementary.h"
#include "patterns/names.h"

namespace tokitai::gelu {

inline constexpr float kRootHalf = 0x1.6a09e6p-1f;  // sqrt(1/2)
inline constexpr float kDensity = 0x1.988454p-2f;   // 1/sqrt(2 pi)
inline constexpr float kC0 = 0x1.988454p-1f;        // sqrt(2/pi)
inline constexpr float kC1 = 0x1.2444f2p-5f;        // 0.044715 sqrt(2/pi)
inline constexpr float kC3 = 0x1.b6676cp-4f;        // 3 * 0.044715 sqrt(2/pi)

template <class T> TK_FN T held(const T& x) { return select(x > 32.0f, T(32.0f), select(x < -32.0f, T(-32.0f), x)); }

struct Forward {
  static constexpr char name[] = "gelu.forward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> x{};
    static constexpr Storage<1> y{};
    static constexpr IntegerOption<0> tanh{};
  };
  template <class M> static TK_FN void element(M& e) {
    auto x = e.load(e.x);
    auto t = x;
    if (e.value(e.tanh) != 0) {
      auto v = held(x);
      t = tanh(v * fma(v * v, kC1, kC0));
    } else {
      t = erf(x * kRootHalf);
    }
    e.store(e.y, (0.5f * x) * (1.0f + t));
  }
};

struct Backward {
  static constexpr char name[] = "gelu.backward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> dy{};
    static constexpr Storage<1> x{};
    static constexpr Storage<2> dx{};
    static constexpr IntegerOption<0> tanh{};
  };
  template <class M> static TK_FN void element(M& e) {
    auto dy = e.load(e.dy);
    auto x = e.load(e.x);
    auto slope = x;
    if (e.value(e.tanh) != 0) {
      auto v = held(x);
      auto t = tanh(v * fma(v * v, kC1, kC0));
      slope = 0.5f * (1.0f + t) + (0.5f * v) * (fma(-t, t, 1.0f) * fma(v * v, kC3, kC0));
    } else {
      auto t = erf(x * kRootHalf);
      slope = fma(x, exp(-0.5f * (x * x)) * kDensity, 0.5f * (1.0f + t));
    }
    e.store(e.dx, dy * slope);
  }
};

using Operators = Family<Forward, Backward>;

}  // namespace tokitai::gelu

// The canonical orders, written down once. Every machine computes each reduction in exactly this order:
//   row:    blocks of 2048; in a block lane l (0..255) chains the elements l, l+256, ..., l+1792; the 256 lane
//           values are combined by the adjacent-pair tree; block values are chained left to right.
//   column: chains of 32 consecutive rows, then chains of 32 consecutive partial results, until one is left.
// Chains start from the identity (+0, or -infinity for a maximum); absent elements are skipped.
#pragma once
#include "numerics/base.h"

namespace tokitai {

inline constexpr int kBlock = 2048;
inline constexpr int kLanes = 256;
inline constexpr int kChunks = kBlock / kLanes;
inline constexpr int kChain = 32;

// Two factors of a fused step.
template <class A, class B> struct Product {
  A a;
  B b;
};
template <class A, class B> TK_FN Product<A, B> product(A a, B b) { return {a, b}; }

// The terms a reduction is made of: where a chain starts, one step of it, and how two values join.
// `value` is evaluated exactly once per element.
template <class F> struct Sum {
  F value;
  static constexpr float identity = 0.0f;
  template <class Acc, class I> TK_FN Acc step(Acc acc, I i) const { return acc + value(i); }
  template <class Acc> static TK_FN Acc join(Acc a, Acc b) { return a + b; }
};
template <class F> struct SumFma {
  F value;  // gives a Product
  static constexpr float identity = 0.0f;
  template <class Acc, class I> TK_FN Acc step(Acc acc, I i) const {
    auto p = value(i);
    return fma(p.a, p.b, acc);
  }
  template <class Acc> static TK_FN Acc join(Acc a, Acc b) { return a + b; }
};
template <class F> struct Max {
  F value;
  static constexpr float identity = -kInfinity;
  template <class Acc, class I> TK_FN Acc step(Acc acc, I i) const { return larger(Acc(value(i)), acc); }
  template <class Acc> static TK_FN Acc join(Acc a, Acc b) { return larger(a, b); }
};
template <class F> Sum(F) -> Sum<F>;
template <class F> SumFma(F) -> SumFma<F>;
template <class F> Max(F) -> Max<F>;

// What `reduce` gives back, for structured bindings.
template <class T, int N> struct Reduced;
template <class T> struct Reduced<T, 1> {
  T first;
};
template <class T> struct Reduced<T, 2> {
  T first, second;
};
template <class T> struct Reduced<T, 3> {
  T first, second, third;
};

}  // namespace tokitai

// Matrix product and its two gradients (the tile pattern): every output element is added up along the contracted index
// in the arithmetic that the option names, from +0 or from what it is given to start with, and rounded once at the end.
//   forward: C = C0 + A B + bias      grad_a: dA = DA0 + dC B^T      grad_b: dB = DB0 + A^T dC
#pragma once
#include "numerics/base.h"
#include "patterns/names.h"

namespace tokitai::gemm {

struct Forward {
  static constexpr char name[] = "gemm.forward";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> a{};
    static constexpr Storage<1> b{};
    static constexpr StorageOrSingle<2> c{};
    static constexpr Single<3> c0{};
    static constexpr StorageOrSingle<4> bias{};
    static constexpr IntegerOption<0> arithmetic{};
  };
  template <class M> static TK_FN void tile(M& m) { m.product(m.c, m.a, m.b, m.c0, m.bias, m.arithmetic); }
};

struct GradA {
  static constexpr char name[] = "gemm.grad_a";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> dc{};
    static constexpr Storage<1> b{};
    static constexpr StorageOrSingle<2> da{};
    static constexpr Single<3> da0{};
    static constexpr IntegerOption<0> arithmetic{};
  };
  template <class M> static TK_FN void tile(M& m) {
    m.product(m.da, m.dc, transposed(m.b), m.da0, Nothing{}, m.arithmetic);
  }
};

struct GradB {
  static constexpr char name[] = "gemm.grad_b";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> dc{};
    static constexpr Storage<1> a{};
    static constexpr StorageOrSingle<2> db{};
    static constexpr Single<3> db0{};
    static constexpr IntegerOption<0> arithmetic{};
  };
  template <class M> static TK_FN void tile(M& m) {
    m.product(m.db, transposed(m.a), m.dc, m.db0, Nothing{}, m.arithmetic);
  }
};

using Operators = Family<Forward, GradA, GradB>;

}  // namespace tokitai::gemm

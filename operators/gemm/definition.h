// Matrix product and its two gradients (the tile pattern): every output element is one fma chain from +0 in
// ascending inner index, rounded once at the end.
//   forward: C = A B      grad_a: dA = dC B^T      grad_b: dB = A^T dC
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
  };
  template <class M> static TK_FN void tile(M& m) { m.product(m.c, m.a, m.b); }
};

struct GradA {
  static constexpr char name[] = "gemm.grad_a";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> dc{};
    static constexpr Storage<1> b{};
    static constexpr StorageOrSingle<2> da{};
  };
  template <class M> static TK_FN void tile(M& m) { m.product(m.da, m.dc, transposed(m.b)); }
};

struct GradB {
  static constexpr char name[] = "gemm.grad_b";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> dc{};
    static constexpr Storage<1> a{};
    static constexpr StorageOrSingle<2> db{};
  };
  template <class M> static TK_FN void tile(M& m) { m.product(m.db, transposed(m.a), m.dc); }
};

using Operators = Family<Forward, GradA, GradB>;

}  // namespace tokitai::gemm

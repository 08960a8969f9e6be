// Grouped matrix product and its two gradients (the tile pattern): rows sorted by group, one right factor per group.
// Each group is a product of its own, as operators/gemm has it.
//   forward: C_g = C0_g + A_g B_g      grad_a: dA_g = DA0_g + dC_g B_g^T      grad_b: dB_g = DB0_g + A_g^T dC_g
#pragma once
#include "numerics/base.h"
#include "patterns/names.h"

namespace tokitai::grouped {

struct Forward {
  static constexpr char name[] = "grouped.forward";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> a{};
    static constexpr Storage<1> b{};
    static constexpr StorageOrSingle<2> c{};
    static constexpr Integer<3> offsets{};
    static constexpr Single<4> c0{};
    static constexpr IntegerOption<0> arithmetic{};
  };
  template <class M> static TK_FN void tile(M& m) { m.grouped_product(m.c, m.a, m.b, m.offsets, m.c0, m.arithmetic); }
};

struct GradA {
  static constexpr char name[] = "grouped.grad_a";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> dc{};
    static constexpr Storage<1> b{};
    static constexpr StorageOrSingle<2> da{};
    static constexpr Integer<3> offsets{};
    static constexpr Single<4> da0{};
    static constexpr IntegerOption<0> arithmetic{};
  };
  template <class M> static TK_FN void tile(M& m) {
    m.grouped_product(m.da, m.dc, transposed(m.b), m.offsets, m.da0, m.arithmetic);
  }
};

struct GradB {
  static constexpr char name[] = "grouped.grad_b";
  using Pattern = patterns::Tile;
  struct Names {
    static constexpr Storage<0> dc{};
    static constexpr Storage<1> a{};
    static constexpr StorageOrSingle<2> db{};
    static constexpr Integer<3> offsets{};
    static constexpr Single<4> db0{};
    static constexpr IntegerOption<0> arithmetic{};
  };
  template <class M> static TK_FN void tile(M& m) {
    m.grouped_product(m.db, transposed(m.a), m.dc, m.offsets, m.db0, m.arithmetic);
  }
};

using Operators = Family<Forward, GradA, GradB>;

}  // namespace tokitai::grouped

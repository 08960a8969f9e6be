// The sum of two tensors, element by element (the each pattern).
#pragma once
#include "numerics/base.h"
#include "patterns/names.h"

namespace tokitai::add {

struct Forward {
  static constexpr char name[] = "add.forward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> a{};
    static constexpr Storage<1> b{};
    static constexpr Storage<2> y{};
  };
  template <class M> static TK_FN void element(M& e) { e.store(e.y, e.load(e.a) + e.load(e.b)); }
};

using Operators = Family<Forward>;

}  // namespace tokitai::add

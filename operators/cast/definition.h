// A tensor in another type, rounded once; in its own type a copy of its bits (the each pattern).
#pragma once
#include "numerics/base.h"
#include "patterns/names.h"

namespace tokitai::cast {

struct Forward {
  static constexpr char name[] = "cast.forward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> x{};
    static constexpr Floating<1> y{};
  };
  template <class M> static TK_FN void element(M& e) { e.convert(e.y, e.x); }
};

using Operators = Family<Forward>;

}  // namespace tokitai::cast

// Embedding look-up and its gradient (the segment pattern): gather rows by index; sum the rows that share one.
// In f16 the sum is exact and rounded once, so no order of addition exists that could change a bit.
#pragma once
#include "numerics/base.h"
#include "patterns/names.h"

namespace tokitai::embedding {

struct Forward {
  static constexpr char name[] = "embedding.forward";
  using Pattern = patterns::Segment;
  struct Names {
    static constexpr Storage<0> weight{};
    static constexpr Integer<1> index{};
    static constexpr Storage<2> y{};
    static constexpr IntegerOption<0> padding_index{};
  };
  template <class M> static TK_FN void segment(M& m) { m.gather(m.y, m.weight, m.index, m.padding_index); }
};

struct Backward {
  static constexpr char name[] = "embedding.backward";
  using Pattern = patterns::Segment;
  struct Names {
    static constexpr Storage<0> dy{};
    static constexpr Integer<1> index{};
    static constexpr StorageOrSingle<2> dweight{};
    static constexpr IntegerOption<1> padding_index{};
    static constexpr IntegerOption<2> accumulate{};
  };
  template <class M> static TK_FN void segment(M& m) {
    m.scatter_sum(m.dweight, m.dy, m.index, m.padding_index, m.flag(m.accumulate));
  }
};

using Operators = Family<Forward, Backward>;

}  // namespace tokitai::embedding

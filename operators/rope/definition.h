// Rotary position embeddings and their gradient (the each pattern, in pairs of elements): each pair of a head is turned
// by an angle that a table has for the token's position.
//   forward:  y1 = x1 cos - x2 sin,  y2 = x2 cos + x1 sin     backward: the same by the angle's negative
#pragma once
#include "numerics/base.h"
#include "patterns/names.h"

namespace tokitai::rope {

// The table's row of a token: as it is given, or counted, from 0 again behind `seq` tokens.
template <class M> TK_FN auto position_of(const M& e) {
  if (e.has(e.position)) return e.integer(e.position);
  return e.value(e.seq) == 0 ? e.row() : e.row() % e.value(e.seq);
}

struct Forward {
  static constexpr char name[] = "rope.forward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> x{};
    static constexpr Single<1> cos{};
    static constexpr Single<2> sin{};
    static constexpr Integer<3> position{};
    static constexpr Storage<4> y{};
    static constexpr IntegerOption<0> seq{};
    static constexpr IntegerOption<1> interleaved{};
  };
  static constexpr auto table = Names::cos;
  template <class M> static TK_FN bool asks(const M& e) { return e.has(e.position); }
  template <class M> static TK_FN auto accepts(const M& e) {
    return (position_of(e) >= 0) & (position_of(e) < e.table_rows());
  }
  template <class M> static TK_FN void element(M& e) {
    const bool beside = e.value(e.interleaved) != 0;
    auto x = e.load_pair(e.x, beside);
    auto cos = e.load_at(e.cos, position_of(e));
    auto sin = e.load_at(e.sin, position_of(e));
    e.store_pair(e.y, fma(x.first, cos, -(x.second * sin)), fma(x.second, cos, x.first * sin), beside);
  }
};

struct Backward {
  static constexpr char name[] = "rope.backward";
  using Pattern = patterns::Each;
  struct Names {
    static constexpr Storage<0> dy{};
    static constexpr Single<1> cos{};
    static constexpr Single<2> sin{};
    static constexpr Integer<3> position{};
    static constexpr Storage<4> dx{};
    static constexpr IntegerOption<0> seq{};
    static constexpr IntegerOption<1> interleaved{};
  };
  static constexpr auto table = Names::cos;
  template <class M> static TK_FN bool asks(const M& e) { return e.has(e.position); }
  template <class M> static TK_FN auto accepts(const M& e) {
    return (position_of(e) >= 0) & (position_of(e) < e.table_rows());
  }
  template <class M> static TK_FN void element(M& e) {
    const bool beside = e.value(e.interleaved) != 0;
    auto dy = e.load_pair(e.dy, beside);
    auto cos = e.load_at(e.cos, position_of(e));
    auto sin = e.load_at(e.sin, position_of(e));
    e.store_pair(e.dx, fma(dy.first, cos, dy.second * sin), fma(dy.second, cos, -(dy.first * sin)), beside);
  }
};

using Operators = Family<Forward, Backward>;

}  // namespace tokitai::rope

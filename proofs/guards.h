// The kernels' guards, as the kernels write them. They stand in the kernels' own text (each.h, row.h, tile.h): moved
// into functions, compilers made other machine code of them.
#pragma once
#include "proofs/symbol.h"

namespace tokitai::proofs {

// `left >= most ? most : static_cast<int>(left)`
inline Symbol<int> at_most(const Symbol<i64>& left, int most) {
  Ledger& ledger = *left.ledger();
  const z3::expr value = z3::ite(*left >= most, ledger.number(most), *left);
  ledger.note_range<int>(value);
  return {ledger, value};
}

// `left >= wide ? wide : left > 0 ? left : 0`
inline Symbol<int> existing(const Symbol<int>& left, int wide) {
  return choose(left >= wide, Symbol<int>(wide), choose(left > 0, left, Symbol<int>(0)));
}

}  // namespace tokitai::proofs

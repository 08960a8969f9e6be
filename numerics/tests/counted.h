// A lane type of one lane that counts operations and knows only the words a definition may use: what compiles
// with it compiles for a SIMD lane type. Its fma is soft_fma whatever the processor has.
#pragma once
#include "numerics/base.h"

namespace tokitai::testing {

inline int operations = 0;  // moving bits between the float and the integer view is free

struct CountedMask {
  bool value;
};
struct CountedBits {
  std::uint32_t value;
  CountedBits(std::uint32_t u) : value(u) {}
};
struct Counted {
  float value;
  Counted(float x) : value(x) {}
};

#define TK_COUNTED_OPERATOR(Result, Operand, op)    \
  inline Result operator op(Operand a, Operand b) { \
    ++operations;                                   \
    return Result{a.value op b.value};              \
  }
TK_COUNTED_OPERATOR(Counted, Counted, +)
TK_COUNTED_OPERATOR(Counted, Counted, -)
TK_COUNTED_OPERATOR(Counted, Counted, *)
TK_COUNTED_OPERATOR(Counted, Counted, /)
TK_COUNTED_OPERATOR(CountedMask, Counted, <)
TK_COUNTED_OPERATOR(CountedMask, Counted, >)
TK_COUNTED_OPERATOR(CountedMask, Counted, ==)
TK_COUNTED_OPERATOR(CountedBits, CountedBits, +)
TK_COUNTED_OPERATOR(CountedBits, CountedBits, -)
TK_COUNTED_OPERATOR(CountedBits, CountedBits, &)
TK_COUNTED_OPERATOR(CountedBits, CountedBits, |)
#undef TK_COUNTED_OPERATOR
inline CountedBits operator<<(CountedBits a, int n) { return ++operations, CountedBits(a.value << n); }
inline CountedBits operator>>(CountedBits a, int n) { return ++operations, CountedBits(a.value >> n); }

inline Counted fma(Counted a, Counted b, Counted c) {
  return ++operations, Counted(soft_fma(a.value, b.value, c.value));
}
inline Counted select(CountedMask m, Counted a, Counted b) { return ++operations, m.value ? a : b; }
inline Counted maximum(Counted a, Counted b) { return ++operations, a.value > b.value ? a : b; }
inline CountedBits bits(Counted x) { return tokitai::bits(x.value); }
inline Counted from_bits(CountedBits u) { return tokitai::from_bits(u.value); }

}  // namespace tokitai::testing

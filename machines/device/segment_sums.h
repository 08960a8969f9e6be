// What the segment pattern sums in registers, `wide` columns at once: f16 exactly, everything else in f32.
#pragma once
#include "machines/device/exact.h"
#include "machines/device/memory.h"

namespace tokitai::device {

// The sum of one chain, a few columns of it.
template <Kind KY, int wide, bool exact> struct ChainSum {
  HalfChain half[exact ? wide : 1];
  float single[exact ? 1 : wide] = {};
  TK_FN void add(const Packed<KY, wide>& row, int turn) {
    TK_UNROLL
    for (int e = 0; e < wide; ++e) {
      if constexpr (exact)
        half[e].add(row[e]);
      else
        single[e] = single[e] + row[e];
    }
    if (exact && turn % 8 == 7) settle();
  }
  TK_FN float value(int e) const {
    if constexpr (exact)
      return half[e].single();
    else
      return single[e];
  }
  TK_FN void settle() {
    TK_UNROLL
    for (int e = 0; e < (exact ? wide : 1); ++e) half[e].settle();
  }
};
// The sum of 32 partial results.
template <Kind KO, int wide, bool exact> struct JoinedSum {
  using Partial = typename RawOf<exact ? 8 : 4>::type;
  ExactTotal total[exact ? wide : 1];
  float single[exact ? 1 : wide] = {};
  TK_FN void add(const Partial (&held)[wide]) {
    TK_UNROLL
    for (int e = 0; e < wide; ++e) {
      if constexpr (exact)
        total[e].add(static_cast<i64>(held[e]));
      else
        single[e] = single[e] + from_bits(held[e]);
    }
  }
  TK_FN void round(float (&out)[wide]) const {
    TK_UNROLL
    for (int e = 0; e < wide; ++e) {
      if constexpr (exact)
        out[e] = KO == Kind::f16 ? total[e].odd() : total[e].single();
      else
        out[e] = single[e];
    }
  }
  TK_FN Partial partial(int e) const {
    if constexpr (exact)
      return static_cast<u64>(total[e].exact());
    else
      return bits(single[e]);
  }
};

}  // namespace tokitai::device

// The adjacent-pair tree over the 256 lanes of a block, in registers: four registers at a time are folded into
// four values, one per register. Adding is commutative, so only the pairing matters, not the order in a pair.
#pragma once
#include "machines/cpu/lanes.h"
#include "patterns/reduction.h"

namespace tokitai::cpu::TK_ISA {

// Scalar tree over a power of two of values, in place.
template <class Term> TK_FN float pair_tree(float* values, int count) {
  for (; count > 1; count /= 2)
    for (int i = 0; i < count / 2; ++i) values[i] = Term::join(values[2 * i], values[2 * i + 1]);
  return values[0];
}

// out[j] = the pair tree of register j.
template <class Term> TK_FN void fold4(const Lanes (&a)[4], float* out) {
#if HWY_TARGET == HWY_AVX2
  const auto pairs = [](Lanes x, Lanes y) {  // per 128 bits: x01 x23 y01 y23
    return Term::join(Lanes(hn::Vec<FloatTag>{_mm256_shuffle_ps(x.v.raw, y.v.raw, 0x88)}),
                      Lanes(hn::Vec<FloatTag>{_mm256_shuffle_ps(x.v.raw, y.v.raw, 0xdd)}));
  };
  const Lanes quads = pairs(pairs(a[0], a[1]), pairs(a[2], a[3]));  // low half: lanes 0-3 of each, high: 4-7
  const __m256 swapped = _mm256_permute2f128_ps(quads.v.raw, quads.v.raw, 1);
  const Lanes whole = Term::join(quads, Lanes(hn::Vec<FloatTag>{swapped}));
  _mm_storeu_ps(out, _mm256_castps256_ps128(whole.v.raw));
#elif HWY_TARGET == HWY_AVX3
  const auto pairs = [](Lanes x, Lanes y) {
    return Term::join(Lanes(hn::Vec<FloatTag>{_mm512_shuffle_ps(x.v.raw, y.v.raw, 0x88)}),
                      Lanes(hn::Vec<FloatTag>{_mm512_shuffle_ps(x.v.raw, y.v.raw, 0xdd)}));
  };
  const Lanes quads = pairs(pairs(a[0], a[1]), pairs(a[2], a[3]));  // 128-bit part p: lanes 4p..4p+3 of each
  const __m512 odd = _mm512_shuffle_f32x4(quads.v.raw, quads.v.raw, 0xb1);
  const Lanes eights = Term::join(quads, Lanes(hn::Vec<FloatTag>{odd}));
  const __m512 upper = _mm512_shuffle_f32x4(eights.v.raw, eights.v.raw, 0x4e);
  const Lanes whole = Term::join(eights, Lanes(hn::Vec<FloatTag>{upper}));
  _mm_storeu_ps(out, _mm512_castps512_ps128(whole.v.raw));
#else
  alignas(64) float values[kWidth];
  for (int j = 0; j < 4; ++j) {
    hn::Store(a[j].v, FloatTag(), values);
    out[j] = pair_tree<Term>(values, kWidth);
  }
#endif
}

// The tree over what folding a block's registers left: one value per register.
template <class Term> TK_FN float fold_all(float (&values)[kLanes / kWidth]) {
  int count = kLanes / kWidth;
  if constexpr (kLanes / kWidth == 4 * kWidth) {  // 32 values with AVX2: four registers again
    const Lanes a[4] = {load(values), load(values + kWidth), load(values + 2 * kWidth), load(values + 3 * kWidth)};
    fold4<Term>(a, values);
    count /= kWidth;
  }
  return pair_tree<Term>(values, count);
}

}  // namespace tokitai::cpu::TK_ISA

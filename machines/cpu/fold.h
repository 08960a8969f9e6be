// The adjacent-pair tree over the 256 lanes of a block, in registers: four registers at a time are folded into
// four values, one per register. Adding is commutative, so only the pairing matters, not the order in a pair.
#pragma once
#include "machines/cpu/lanes.h"
#include "patterns/reduction.h"

namespace tokitai::cpu::TK_ISA {

// Four values, one from each of four neighbouring registers.
struct Quad {
#if defined(__AVX2__)
  __m128 v;
  friend TK_FN Quad operator+(Quad a, Quad b) { return {_mm_add_ps(a.v, b.v)}; }
  friend TK_FN Quad larger(Quad a, Quad b) { return {_mm_max_ps(a.v, b.v)}; }
#else
  float v[4];
#endif
};

// Scalar tree over a power of two of values, in place.
template <class Term> TK_FN float pair_tree(float* values, int count) {
  for (; count > 1; count /= 2)
    for (int i = 0; i < count / 2; ++i) values[i] = Term::join(values[2 * i], values[2 * i + 1]);
  return values[0];
}

#if defined(__AVX2__)
// Per 128 bits: x01 x23 y01 y23.
template <class Term> TK_FN Quad pairs(Quad x, Quad y) {
  return Term::join(Quad{_mm_shuffle_ps(x.v, y.v, 0x88)}, Quad{_mm_shuffle_ps(x.v, y.v, 0xdd)});
}
template <class Term> TK_FN Lanes pairs(Lanes x, Lanes y) {
#if HWY_TARGET == HWY_AVX3
  const auto even = _mm512_shuffle_ps(x.v.raw, y.v.raw, 0x88), odd = _mm512_shuffle_ps(x.v.raw, y.v.raw, 0xdd);
#else
  const auto even = _mm256_shuffle_ps(x.v.raw, y.v.raw, 0x88), odd = _mm256_shuffle_ps(x.v.raw, y.v.raw, 0xdd);
#endif
  return Term::join(Lanes(hn::Vec<FloatTag>{even}), Lanes(hn::Vec<FloatTag>{odd}));
}
#endif

// The pair tree of each of four registers.
template <class Term> TK_FN Quad fold4(const Lanes* a) {
#if defined(__AVX2__)
  // 128-bit part p of `quads` holds lanes 4p..4p+3 of each register.
  const Lanes quads = pairs<Term>(pairs<Term>(a[0], a[1]), pairs<Term>(a[2], a[3]));
#if HWY_TARGET == HWY_AVX3
  const __m512 v = quads.v.raw;
  const Quad low = Term::join(Quad{_mm512_castps512_ps128(v)}, Quad{_mm512_extractf32x4_ps(v, 1)});
  return Term::join(low, Term::join(Quad{_mm512_extractf32x4_ps(v, 2)}, Quad{_mm512_extractf32x4_ps(v, 3)}));
#else
  return Term::join(Quad{_mm256_castps256_ps128(quads.v.raw)}, Quad{_mm256_extractf128_ps(quads.v.raw, 1)});
#endif
#else
  Quad folded;
  alignas(64) float values[kWidth];
  for (int j = 0; j < 4; ++j) {
    hn::Store(a[j].v, FloatTag(), values);
    folded.v[j] = pair_tree<Term>(values, kWidth);
  }
  return folded;
#endif
}

// The tree over what folding a block's registers left.
inline constexpr int kQuads = kLanes / (4 * kWidth);
template <class Term> TK_FN float fold_all(const Quad (&q)[kQuads]) {
#if defined(__AVX2__)
  const auto four = [&](int i) { return pairs<Term>(pairs<Term>(q[i], q[i + 1]), pairs<Term>(q[i + 2], q[i + 3])); };
  Quad last = four(0);  // the four values that are left, or the first four of eight
  if constexpr (kQuads == 8) last = pairs<Term>(last, four(4));
  last = pairs<Term>(last, last);
  return _mm_cvtss_f32(pairs<Term>(last, last).v);
#else
  float values[kLanes / kWidth];
  for (int i = 0; i < kQuads; ++i)
    for (int j = 0; j < 4; ++j) values[4 * i + j] = q[i].v[j];
  return pair_tree<Term>(values, kLanes / kWidth);
#endif
}

}  // namespace tokitai::cpu::TK_ISA

// One SIMD register of floats with the words of a definition (+ - * / fma sqrt select maximum bits), and how
// storage types get in and out of it. Built once per instruction set, in a namespace of its own (TK_ISA).
// Highway supplies the registers; conversions and a missing fma come from numerics/, because Highway 1.0's own
// f16 narrowing is wrong below AVX2, its bf16 narrowing truncates and its MulAdd does not fuse without FMA.
#pragma once
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numerics/half.h"
#include "tokitai/view.h"

#ifndef TK_ISA
#error "TK_ISA names the instruction set this file is built for"
#endif

namespace tokitai::cpu::TK_ISA {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;
using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;  // as many 16-bit values as a register has floats
inline constexpr int kWidth = HWY_LANES(float);
// Highway falls back to a narrower target in silence when a flag it wants is missing (AES, for AVX2).
#ifdef TK_WIDTH
static_assert(kWidth == TK_WIDTH, "the build's flags do not give the registers this instruction set should have");
#endif

struct Mask {
  hn::Mask<FloatTag> m;
  friend TK_FN Mask operator!(Mask a) { return {hn::Not(a.m)}; }
  friend TK_FN Mask operator&(Mask a, Mask b) { return {hn::And(a.m, b.m)}; }
  friend TK_FN Mask operator|(Mask a, Mask b) { return {hn::Or(a.m, b.m)}; }
};

struct LaneBits {
  hn::Vec<BitsTag> v;
  TK_FN LaneBits(hn::Vec<BitsTag> x) : v(x) {}                   // NOLINT(google-explicit-constructor)
  TK_FN LaneBits(std::uint32_t x) : v(hn::Set(BitsTag(), x)) {}  // NOLINT(google-explicit-constructor)
  friend TK_FN LaneBits operator+(LaneBits a, LaneBits b) { return hn::Add(a.v, b.v); }
  friend TK_FN LaneBits operator-(LaneBits a, LaneBits b) { return hn::Sub(a.v, b.v); }
  friend TK_FN LaneBits operator&(LaneBits a, LaneBits b) { return hn::And(a.v, b.v); }
  friend TK_FN LaneBits operator|(LaneBits a, LaneBits b) { return hn::Or(a.v, b.v); }
  friend TK_FN LaneBits operator<<(LaneBits a, int count) { return hn::ShiftLeftSame(a.v, count); }
  friend TK_FN LaneBits operator>>(LaneBits a, int count) { return hn::ShiftRightSame(a.v, count); }
};

struct Lanes;
Lanes from_bits(LaneBits u);

struct Lanes {
  hn::Vec<FloatTag> v;
  Lanes() = default;
  TK_FN Lanes(hn::Vec<FloatTag> x) : v(x) {}           // NOLINT(google-explicit-constructor)
  TK_FN Lanes(float x) : v(hn::Set(FloatTag(), x)) {}  // NOLINT(google-explicit-constructor)

  friend TK_FN Lanes operator+(Lanes a, Lanes b) { return hn::Add(a.v, b.v); }
  friend TK_FN Lanes operator-(Lanes a, Lanes b) { return hn::Sub(a.v, b.v); }
  friend TK_FN Lanes operator*(Lanes a, Lanes b) { return hn::Mul(a.v, b.v); }
  friend TK_FN Lanes operator/(Lanes a, Lanes b) { return hn::Div(a.v, b.v); }
  friend TK_FN Lanes operator-(Lanes a) { return hn::Neg(a.v); }
  friend TK_FN Mask operator<(Lanes a, Lanes b) { return {hn::Lt(a.v, b.v)}; }
  friend TK_FN Mask operator>(Lanes a, Lanes b) { return {hn::Gt(a.v, b.v)}; }
  friend TK_FN Mask operator<=(Lanes a, Lanes b) { return {hn::Le(a.v, b.v)}; }
  friend TK_FN Mask operator>=(Lanes a, Lanes b) { return {hn::Ge(a.v, b.v)}; }
  friend TK_FN Mask operator==(Lanes a, Lanes b) { return {hn::Eq(a.v, b.v)}; }
  // Not Highway's Ne, which on x86 is false for a NaN.
  friend TK_FN Mask operator!=(Lanes a, Lanes b) { return {hn::Not(hn::Eq(a.v, b.v))}; }

  friend TK_FN Lanes sqrt(Lanes a) { return hn::Sqrt(a.v); }
  friend TK_FN Lanes fma(Lanes a, Lanes b, Lanes c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return hn::MulAdd(a.v, b.v, c.v);
#else
    alignas(64) float x[kWidth], y[kWidth], z[kWidth];
    hn::Store(a.v, FloatTag(), x);
    hn::Store(b.v, FloatTag(), y);
    hn::Store(c.v, FloatTag(), z);
    for (int i = 0; i < kWidth; ++i) x[i] = soft_fma(x[i], y[i], z[i]);
    return hn::Load(FloatTag(), x);
#endif
  }
  friend TK_FN Lanes select(Mask m, Lanes yes, Lanes no) { return hn::IfThenElse(m.m, yes.v, no.v); }
  friend TK_FN Lanes select(bool condition, Lanes yes, Lanes no) { return condition ? yes : no; }
  friend TK_FN Lanes maximum(Lanes a, Lanes b) {
#if defined(__AVX2__)
    return hn::Max(a.v, b.v);  // maxps is a > b ? a : b, NaN and zeros included
#else
    return select(a > b, a, b);
#endif
  }
  friend TK_FN Lanes larger(Lanes a, Lanes b) { return maximum(a, b); }
#if HWY_TARGET == HWY_AVX3
  // One instruction for two multiplications and a shift, with the same single rounding.
  friend TK_FN Lanes times_power(Lanes significand, Lanes k, Lanes) {
    return hn::Vec<FloatTag>{_mm512_scalef_ps(significand.v.raw, k.v.raw)};
  }
#endif
  friend TK_FN LaneBits bits(Lanes a) { return hn::BitCast(BitsTag(), a.v); }
  friend TK_FN Mask is_nan(Lanes a) { return {hn::IsNaN(a.v)}; }
  friend TK_FN Lanes canonical(Lanes a) { return select(is_nan(a), from_bits(LaneBits(kCanonicalNan)), a); }
};
TK_FN Lanes from_bits(LaneBits u) { return hn::BitCast(FloatTag(), u.v); }

// The first `count` lanes.
TK_FN Mask first_lanes(std::int64_t count) { return {hn::FirstN(FloatTag(), static_cast<std::size_t>(count))}; }
// The lane whose number is `lane`, if there is one.
TK_FN Mask lane_is(std::int64_t lane) {
  const hn::RebindToSigned<FloatTag> d;
  const auto number = static_cast<std::int32_t>(lane >= 0 && lane < kWidth ? lane : -1);
  return {hn::RebindMask(FloatTag(), hn::Eq(hn::Iota(d, 0), hn::Set(d, number)))};
}

TK_FN Lanes load(const float* p) { return hn::LoadU(FloatTag(), p); }
TK_FN void store(float* p, Lanes x) { hn::StoreU(x.v, FloatTag(), p); }

// NaNs are rare: four registers are asked at once whether there is one. (Two compares and a branch instead of four
// compares and four selections.)
TK_FN bool any_nan(const Lanes (&x)[4]) {
#if HWY_TARGET == HWY_AVX3
  return (_mm512_cmp_ps_mask(x[0].v.raw, x[1].v.raw, _CMP_UNORD_Q) |
          _mm512_cmp_ps_mask(x[2].v.raw, x[3].v.raw, _CMP_UNORD_Q)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps(_mm256_or_ps(_mm256_cmp_ps(x[0].v.raw, x[1].v.raw, _CMP_UNORD_Q),
                                         _mm256_cmp_ps(x[2].v.raw, x[3].v.raw, _CMP_UNORD_Q))) != 0;
#else
  return !hn::AllFalse(FloatTag(),
                       hn::Or(hn::Or(is_nan(x[0]).m, is_nan(x[1]).m), hn::Or(is_nan(x[2]).m, is_nan(x[3]).m)));
#endif
}
TK_FN void canonical_all(Lanes (&x)[4]) {
  if (any_nan(x)) [[unlikely]]
    for (Lanes& one : x) one = canonical(one);
}

// Storage: how a register of values is read from and written to memory of type S. `round` rounds once and wants no
// NaN but the canonical one; `narrow` makes every NaN that one first; `copy` changes no bit.
// kOneInstruction: what widening takes.
template <Type S> struct Memory;

template <> struct Memory<Type::f32> {
  using Element = float;
  using Packed = Lanes;
  static constexpr bool kOneInstruction = true;
  static TK_FN Lanes widen(const Element* p) { return load(p); }
  static TK_FN Packed round(Lanes x) { return x; }
  static TK_FN Packed narrow(Lanes x) { return canonical(x); }
  static TK_FN void write(Element* p, Packed x) { store(p, x); }
  static TK_FN void copy(Element* to, const Element* from) { store(to, load(from)); }
  static TK_FN void stream(Element* p, Packed x) { hn::Stream(x.v, FloatTag(), p); }
};

template <> struct Memory<Type::bf16> {
  using Element = std::uint16_t;
  using Packed = hn::Vec<HalfTag>;
  static constexpr bool kOneInstruction = true;  // two, but cheap ones
  static TK_FN Lanes widen(const Element* p) {
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), hn::LoadU(HalfTag(), p))));
  }
  static TK_FN Packed round(Lanes x) {  // to nearest even on the bits; a carry runs into the exponent
    const LaneBits u = bits(x);
    const LaneBits rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return hn::DemoteTo(HalfTag(), hn::BitCast(hn::RebindToSigned<FloatTag>(), rounded.v));
  }
  static TK_FN Packed narrow(Lanes x) { return round(canonical(x)); }
  static TK_FN void write(Element* p, Packed x) { hn::StoreU(x, HalfTag(), p); }
  static TK_FN void copy(Element* to, const Element* from) { hn::StoreU(hn::LoadU(HalfTag(), from), HalfTag(), to); }
  static TK_FN void stream(Element* p, Packed x) { hn::Stream(x, HalfTag(), p); }
};

template <> struct Memory<Type::f16> {
  using Element = std::uint16_t;
  using Packed = hn::Vec<HalfTag>;
#if defined(__F16C__)
  using Float16Tag = hn::Rebind<hwy::float16_t, FloatTag>;
  static constexpr bool kOneInstruction = true;
  static TK_FN Lanes widen(const Element* p) {
    return hn::PromoteTo(FloatTag(), hn::BitCast(Float16Tag(), hn::LoadU(HalfTag(), p)));
  }
  static TK_FN Packed round(Lanes x) {  // the instruction rounds to nearest even and keeps subnormals
    return hn::BitCast(HalfTag(), hn::DemoteTo(Float16Tag(), x.v));
  }
  static TK_FN Packed narrow(Lanes x) { return round(canonical(x)); }
#else
  static constexpr bool kOneInstruction = false;
  static TK_FN Lanes widen(const Element* p) {
    alignas(64) float wide[kWidth];
    for (int i = 0; i < kWidth; ++i) wide[i] = widen_f16(p[i]);
    return hn::Load(FloatTag(), wide);
  }
  static TK_FN Packed round(Lanes x) { return narrow(x); }
  static TK_FN Packed narrow(Lanes x) {
    alignas(64) float wide[kWidth];
    alignas(64) std::uint16_t half[kWidth];
    hn::Store(x.v, FloatTag(), wide);
    for (int i = 0; i < kWidth; ++i) half[i] = narrow_f16(wide[i]);
    return hn::Load(HalfTag(), half);
  }
#endif
  static TK_FN void write(Element* p, Packed x) { hn::StoreU(x, HalfTag(), p); }
  static TK_FN void copy(Element* to, const Element* from) { hn::StoreU(hn::LoadU(HalfTag(), from), HalfTag(), to); }
  static TK_FN void stream(Element* p, Packed x) { hn::Stream(x, HalfTag(), p); }
};

// The last, shorter register of a row: absent lanes read as zero and are never written.
template <Type S> TK_FN Lanes widen_first(const typename Memory<S>::Element* p, std::int64_t count) {
  alignas(64) typename Memory<S>::Element whole[kWidth] = {};
  std::memcpy(whole, p, static_cast<std::size_t>(count) * sizeof(whole[0]));
  return Memory<S>::widen(whole);
}
template <Type S>
TK_FN void write_first(typename Memory<S>::Element* p, typename Memory<S>::Packed x, std::int64_t count) {
  alignas(64) typename Memory<S>::Element whole[kWidth];
  Memory<S>::write(whole, x);
  std::memcpy(p, whole, static_cast<std::size_t>(count) * sizeof(whole[0]));
}

}  // namespace tokitai::cpu::TK_ISA

// How kernels read and write storage: a few neighbouring elements as packed words, one rounding per element.
#pragma once
#include "machines/device/alias.h"
// The alias header comes first: it says what TK_FN is.
#include "machines/device/arguments.h"
#include "machines/device/kinds.h"
#include "machines/device/place.h"
#include "numerics/base.h"

namespace tokitai::device {

template <int count> struct alignas(count * 4) Words {
  u32 word[count];
};

// The integer that holds one element's bits.
template <int bytes> struct RawOf {
  using type = u32;
};
template <> struct RawOf<2> {
  using type = u16;
};
template <> struct RawOf<8> {
  using type = u64;
};
template <Kind K> using Raw = typename RawOf<bytes_of(K)>::type;

template <Kind K> TK_FN float widen(Raw<K> raw) {
  if constexpr (K == Kind::f16)
    return widen_half(raw);
  else if constexpr (K == Kind::bf16)
    return from_bits(static_cast<u32>(raw) << 16);
  else
    return from_bits(raw);
}
template <Kind K> TK_FN Raw<K> narrow(float v) {
  if constexpr (K == Kind::f16)
    return static_cast<u16>(narrow_halves(v, 0.0f));
  else if constexpr (K == Kind::bf16)
    return static_cast<u16>(narrow_bfloats(v, 0.0f));
  else
    return bits(canonical(v));
}

// `wide` neighbouring elements of one kind.
template <Kind K, int wide> struct Packed {
  static constexpr int kWords = (wide * bytes_of(K) + 3) / 4;
  u32 word[kWords];

  TK_FN Raw<K> raw(int e) const {
    if constexpr (bytes_of(K) == 2)
      return static_cast<u16>(word[e / 2] >> (16 * (e % 2)));
    else
      return word[e];
  }
  TK_FN float operator[](int e) const { return widen<K>(raw(e)); }
  TK_FN void set(int e, Raw<K> raw) {
    if constexpr (bytes_of(K) == 2)
      word[e / 2] = e % 2 == 0 ? raw : word[e / 2] | static_cast<u32>(raw) << 16;
    else
      word[e] = raw;
  }
};
// Rounds once; v holds `wide` values.
template <Kind K, int wide> TK_FN Packed<K, wide> pack(const float (&v)[wide]) {
  Packed<K, wide> p;
  TK_UNROLL
  for (int w = 0; w < Packed<K, wide>::kWords; ++w) {
    if constexpr (wide == 1)
      p.word[w] = narrow<K>(v[w]);
    else if constexpr (K == Kind::f16)
      p.word[w] = narrow_halves(v[2 * w], v[2 * w + 1]);
    else if constexpr (K == Kind::bf16)
      p.word[w] = narrow_bfloats(v[2 * w], v[2 * w + 1]);
    else
      p.word[w] = bits(canonical(v[w]));
  }
  return p;
}

// Reads or writes in accesses of `access` bytes, which the address is a multiple of. Constant: nobody writes there
// while the kernel runs.
template <Kind K, int wide, int access, bool constant = false>
TK_FN Packed<K, wide> load_packed(GlobalSpot<const Raw<K>> from) {
  Packed<K, wide> p;
  if constexpr (access < 4) {
    TK_UNROLL
    for (Counter e = 0; e < wide; ++e) p.set(e, from[e]);
  } else {
    constexpr int kWords = access / 4;
    TK_UNROLL
    for (Counter a = 0; a < Packed<K, wide>::kWords / kWords; ++a) {
      const GlobalSpot<const Words<kWords>> at = cast<const Words<kWords>>(from);
      const Words<kWords> words = constant ? load_constant(at, a) : Words<kWords>(at[a]);
      TK_UNROLL
      for (int w = 0; w < kWords; ++w) p.word[a * kWords + w] = words.word[w];
    }
  }
  return p;
}
template <Kind K, int wide, int access> TK_FN void store_packed(GlobalSpot<Raw<K>> to, const Packed<K, wide>& p) {
  if constexpr (access < 4) {
    TK_UNROLL
    for (Counter e = 0; e < wide; ++e) to[e] = p.raw(e);
  } else {
    constexpr int kWords = access / 4;
    TK_UNROLL
    for (Counter a = 0; a < Packed<K, wide>::kWords / kWords; ++a) {
      Words<kWords> words;
      TK_UNROLL
      for (int w = 0; w < kWords; ++w) words.word[w] = p.word[a * kWords + w];
      cast<Words<kWords>>(to)[a] = words;
    }
  }
}
// The same where only `count` elements exist.
template <Kind K, int wide> TK_FN Packed<K, wide> load_some(GlobalSpot<const Raw<K>> from, Place<Existing, int> count) {
  Packed<K, wide> p{};
  TK_UNROLL
  for (Counter e = 0; e < wide; ++e) {
    Raw<K> raw = 0;
    if (e < count) raw = from[e];
    p.set(e, raw);
  }
  return p;
}
template <Kind K, int wide>
TK_FN void store_some(GlobalSpot<Raw<K>> to, const Packed<K, wide>& p, Place<Existing, int> count) {
  TK_UNROLL
  for (Counter e = 0; e < wide; ++e)
    if (e < count) to[e] = p.raw(e);
}

// One row of an operand, and where a row begins.
template <Kind K> TK_FN Global<Raw<K>, Column> elements(const Operand& operand, Place<Row, i64> row) {
  return global<Raw<K>, Column>(operand.data) + row_begin(row, operand.stride);
}
template <Kind K> TK_FN i64 load_integer(const Operand& operand, Place<Row, i64> i) {
  if constexpr (K == Kind::i32)
    return static_cast<std::int32_t>(global<const u32, Row>(operand.data)[i]);
  else
    return static_cast<i64>(global<const u64, Row>(operand.data)[i]);
}

// What addresses are multiples of; no address comes back out of it.
template <class A> TK_FN Multiples multiples_of(const A& address) { return std::bit_cast<Multiples>(address); }

// Whether there is memory at all.
template <class A> TK_FN bool is_there(const A& address) { return std::bit_cast<u64>(address) != 0; }

// What a check said: the smallest position that it refused.
TK_FN bool refused(const Arguments& arguments) { return *global_one<u64>(arguments.flag) != kUnflagged; }
TK_FN void refuse(const Arguments& arguments, u64 position) { atomic_min(global_one<u64>(arguments.flag), position); }

}  // namespace tokitai::device

#if defined(TK_LOCKSTEP_LIBRARY)
#include "machines/lockstep/kernel_text.h"
#endif

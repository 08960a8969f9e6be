// The words of a product of integers on any GPU: packing bytes, and the instruction by which a wave multiplies them.
// Beside alias.h the only lines that depend on the target: NVIDIA, AMD, and the lockstep machine's twins.
#pragma once
#include "compiler/fragment.h"
#include "machines/device/alias.h"
#if defined(TK_LOCKSTEP)
#include "machines/lockstep/alias_bytes.h"
#else

#if defined(__CUDACC_RTC__)
#define TK_ROLLED _Pragma("unroll 1")
#else
#define TK_ROLLED _Pragma("clang loop unroll(disable)")
#endif

namespace tokitai::device {

// What every thread can ask for again: what is made of it is not kept in registers. A number; this thread's own in its
// block; its lane in its group of 32.
#if defined(__CUDACC_RTC__)
TK_FN int asked_anew(int number) {
  asm volatile("" : "+r"(number));
  return number;
}
TK_FN int thread_anew() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
TK_FN int lane_index() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
#else
TK_FN int asked_anew(int number) {
  asm volatile("" : "+v"(number));
  return number;
}
TK_FN int thread_anew() { return asked_anew(thread_index()); }
TK_FN int lane_index() { return asked_anew(wave_lane() & 31); }
#endif

// What makes these sums does not move below this line, nor what uses them above it.
#if defined(__CUDACC_RTC__)
template <int count> TK_FN void settled(float (&sums)[count]) {
  TK_UNROLL
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int count> TK_FN void settled(int (&sums)[count]) {
  TK_UNROLL
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}
#else
template <class T, int count> TK_FN void settled(T (&sums)[count]) {
  TK_UNROLL
  for (int i = 0; i < count; ++i) asm volatile("" : "+v"(sums[i])::"memory");
}
#endif

// Halves of words, the larger of each two; and the lowest bytes of four words as one.
#if defined(__CUDACC_RTC__)
#if __CUDA_ARCH__ >= 900
TK_FN u32 larger_of_each(u32 a, u32 b) {
  u32 d;
  asm("max.u16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
#else
TK_FN u32 larger_of_each(u32 a, u32 b) { return max(a & 0xffffu, b & 0xffffu) | max(a & 0xffff0000u, b & 0xffff0000u); }
#endif
TK_FN u32 low_bytes(u32 a, u32 b, u32 c, u32 d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}
#else
using TwoHalves = u16 __attribute__((ext_vector_type(2)));
TK_FN u32 larger_of_each(u32 a, u32 b) {
  return std::bit_cast<u32>(__builtin_elementwise_max(std::bit_cast<TwoHalves>(a), std::bit_cast<TwoHalves>(b)));
}
TK_FN u32 low_bytes(u32 a, u32 b, u32 c, u32 d) { return (a & 0xffu) | (b & 0xffu) << 8 | (c & 0xffu) << 16 | d << 24; }
#endif

// A piece of 16 bytes of shared memory that this lane has found, as its wave's instruction wants it, and that
// instruction: sums += left right (fragment_shape.h). On NVIDIA the wave's 32 pieces are four matrices of eight lines,
// of which a lane gets its word of its line; elsewhere a lane gets its own piece.
#if defined(__CUDACC_RTC__)
template <Fragment F, class Piece> TK_FN Piece load_piece(Piece* p) {
  Piece v;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
               : "r"(static_cast<u32>(__cvta_generic_to_shared(p)))
               : "memory");
  return v;
}
template <Fragment F> TK_FN void multiply_bytes(int (&sums)[4], const u32 (&left)[4], const u32 (&right)[2]) {
  static_assert(F == Fragment::mma);
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#else
template <Fragment F, class Piece> TK_FN Piece load_piece(Piece* p) { return *p; }
template <int count> using Ints = int __attribute__((ext_vector_type(count)));
template <int count> TK_FN Ints<count> ints_of(const int (&v)[count]) {
  Ints<count> out;
  TK_UNROLL
  for (int i = 0; i < count; ++i) out[i] = v[i];
  return out;
}
template <int count> TK_FN Ints<count> ints_of(const u32 (&v)[count]) {
  Ints<count> out;
  TK_UNROLL
  for (int i = 0; i < count; ++i) out[i] = static_cast<int>(v[i]);
  return out;
}
TK_FN long long_of(const u32 (&v)[2]) { return static_cast<long>(static_cast<u64>(v[1]) << 32 | v[0]); }
// The right factor is the instruction's first: a lane's sums are then neighbours in a row of the output.
template <Fragment F, int sums_of, int left_of, int right_of>
TK_FN void multiply_bytes(int (&sums)[sums_of], const u32 (&left)[left_of], const u32 (&right)[right_of]) {
  if constexpr (F == Fragment::dot4) {
    TK_UNROLL
    for (int i = 0; i < left_of; ++i) {
      TK_UNROLL
      for (int j = 0; j < right_of; ++j)
        sums[i * right_of + j] = __builtin_amdgcn_sdot4(static_cast<int>(left[i]), static_cast<int>(right[j]),
                                                        sums[i * right_of + j], false);
    }
  } else {
    Ints<sums_of> d = ints_of(sums);
    if constexpr (F == Fragment::mfma16)
      d = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<int>(right[0]), static_cast<int>(left[0]), d, 0, 0, 0);
    else if constexpr (F == Fragment::mfma32)
      d = __builtin_amdgcn_mfma_i32_16x16x32_i8(long_of(right), long_of(left), d, 0, 0, 0);
    else if constexpr (F == Fragment::wmma11)
      d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, ints_of(right), true, ints_of(left), d, false);
    else
      d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, ints_of(right), true, ints_of(left), d, false);
    TK_UNROLL
    for (int i = 0; i < sums_of; ++i) sums[i] = d[i];
  }
}
#endif

}  // namespace tokitai::device
#endif

// The words every definition is written in, for one plain float: fma, sqrt, select, maximum, bits.
// A vector machine gives its own lane type the same words (found by argument-dependent lookup), so a
// definition reads the same on every machine. Only operations that IEEE-754 rounds correctly are here.
#pragma once
#include <bit>
#include <cstdint>

// Always inlined: no out-of-line copy of these exists, so code built for one instruction set can never be
// picked by the linker for a machine that lacks it. (A GPU machine defines its own before this.)
#ifndef TK_FN
#define TK_FN inline __attribute__((always_inline))
#endif

#include "numerics/soft_fma.h"

namespace tokitai {

TK_FN std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
TK_FN float from_bits(std::uint32_t u) { return std::bit_cast<float>(u); }

// One rounding. Without the instruction, ours: the C library's takes the instruction where the processor has
// it, and a portable build would then test nothing.
TK_FN float fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__AMDGCN__)
  return __builtin_fmaf(a, b, c);
#else
  return soft_fma(a, b, c);
#endif
}
TK_FN float sqrt(float x) {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}
TK_FN float select(bool condition, float yes, float no) { return condition ? yes : no; }
// The second operand unless the first is greater: a NaN in `a` is dropped, the sign of zero is not promised.
TK_FN float maximum(float a, float b) { return a > b ? a : b; }

// The same where `b` is a number: what a running maximum needs, and one instruction more machines have.
TK_FN float larger(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fmaxf(a, b);
#else
  return maximum(a, b);
#endif
}

inline constexpr float kInfinity = __builtin_bit_cast(float, 0x7f800000u);
inline constexpr std::uint32_t kCanonicalNan = 0x7fc00000u;

// Vendors disagree on the bits of a NaN result; every stored one is this one.
TK_FN float canonical(float x) { return x != x ? from_bits(kCanonicalNan) : x; }

}  // namespace tokitai

// Element types as compile-time numbers, four bits per operand in a plan.
#pragma once
#include <cstdint>

namespace tokitai::device {

enum class Kind : std::uint32_t { absent, f16, bf16, f32, i32, i64 };

// The most operands, options and scalars of a call, as contract/call.h has them.
inline constexpr int kOperands = 16, kOptions = 16, kScalars = 16;

constexpr Kind kind_at(std::uint64_t kinds, int operand) { return static_cast<Kind>((kinds >> (4 * operand)) & 15u); }
constexpr int bytes_of(Kind kind) {
  return kind == Kind::absent ? 0 : kind == Kind::f16 || kind == Kind::bf16 ? 2 : kind == Kind::i64 ? 8 : 4;
}

constexpr int count_set(std::uint32_t mask) {
  int count = 0;
  for (; mask != 0; mask &= mask - 1) ++count;
  return count;
}

}  // namespace tokitai::device

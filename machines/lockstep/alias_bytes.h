// The words of machines/device/alias_bytes.h for threads that are fibers on the CPU. Each stands for one operation of a
// GPU; that it behaves as said here is what every result of the lockstep machine assumes (README.md).
#pragma once
#include "compiler/fragment.h"
#include "machines/device/alias.h"
#include "machines/device/place.h"

#define TK_ROLLED

namespace tokitai::device {

TK_FN int asked_anew(int number) { return number; }
TK_FN Place<Thread, int> thread_anew() { return thread_index(); }
TK_FN Place<Given<Counted>, int> lane_index() { return lane_in_group(thread_index()); }

template <class T, int count> TK_FN void settled(T (&)[count]) {}

TK_FN u32 larger_of_each(u32 a, u32 b) {
  const u32 low = (a & 0xffffu) > (b & 0xffffu) ? a & 0xffffu : b & 0xffffu;
  const u32 high = a >> 16 > b >> 16 ? a >> 16 : b >> 16;
  return high << 16 | low;
}
TK_FN u32 low_bytes(u32 a, u32 b, u32 c, u32 d) {
  return (a & 0xffu) | (b & 0xffu) << 8 | (c & 0xffu) << 16 | (d & 0xffu) << 24;
}

template <Fragment F, class Pointer> TK_FN auto load_piece(const Pointer& p) {
  auto piece = checked(p).load();
  if constexpr (F == Fragment::mma) lockstep::load_matrices(piece.word);
  return piece;
}
// On AMD the right factor is the instruction's first.
template <Fragment F, int sums_of, int left_of, int right_of>
TK_FN void multiply_bytes(int (&sums)[sums_of], const u32 (&left)[left_of], const u32 (&right)[right_of]) {
  if constexpr (F == Fragment::mma || F == Fragment::dot4)
    lockstep::multiply_bytes(static_cast<int>(F), sums, left, right);
  else
    lockstep::multiply_bytes(static_cast<int>(F), sums, right, left);
}

}  // namespace tokitai::device

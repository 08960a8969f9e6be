// The words that index arithmetic is written in, beside + - * / % by constants and comparisons. place_each.h,
// place_row.h and place_tile.h say with them which element a thread owns and which word of memory it touches, as
// templates over the integer type: a kernel runs them with int and i64, the prover (proofs/) runs the same text with
// symbols, for all sizes. Symbols bring their own versions of these words.
#pragma once
#include "machines/device/alias.h"

// An index that a kernel writes out, because compilers make other machine code of a call of the proved function. On a
// GPU it is what is written; the lockstep machine compares both wherever they are computed.
#if defined(TK_LOCKSTEP)
#define TK_AS_PROVED(written, proved) ::tokitai::device::as_proved(written, proved)
#else
#define TK_AS_PROVED(written, proved) (written)
#endif

namespace tokitai::device {

template <class I> TK_FN I choose(bool condition, I yes, I no) { return condition ? yes : no; }
TK_FN i64 as_long(int v) { return v; }
TK_FN int as_int(i64 v) { return static_cast<int>(v); }

// Of `left` elements those that a vector of `most` has.
template <class L> TK_FN auto at_most(L left, int most) { return as_int(choose(left >= most, L(most), left)); }

// A row of pieces of `size`: how many hold `count` things, the last perhaps not full.
template <class I> TK_FN I pieces_of(I count, int size) { return (count + (size - 1)) / size; }

}  // namespace tokitai::device

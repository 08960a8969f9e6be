// The words that index arithmetic is written in, beside + - * / % by constants and comparisons. place_each.h,
// place_row.h and place_tile.h say with them which element a thread owns and which word of memory it touches, as
// templates over the integer type: a kernel runs them with int and i64, the prover (proofs/) runs the same text with
// symbols, for all sizes. Symbols bring their own versions of these words.
#pragma once
#include "machines/device/alias.h"

namespace tokitai::device {

template <class I> TK_FN I choose(bool condition, I yes, I no) { return condition ? yes : no; }
TK_FN i64 as_long(int v) { return v; }

// A row of pieces of `size`: how many hold `count` things, the last perhaps not full.
template <class I> TK_FN I pieces_of(I count, int size) { return (count + (size - 1)) / size; }

}  // namespace tokitai::device

// The words that index arithmetic is written in, beside + - * / % by constants and comparisons. place_each.h,
// place_row.h and place_tile.h say with them which element a thread owns and which word of memory it touches, as
// templates over the integer type: a kernel runs them with int and i64, the prover (proofs/) runs the same text with
// symbols, for all sizes. Symbols bring their own versions of these words.
#pragma once
#include "machines/device/alias.h"

namespace tokitai::device {

// A function may hold a second text, TK_AS_PROVED(written, proved), where a compiler makes better code of it: a GPU
// computes what is written, the prover reads what is proved, the lockstep machine compares both.

// A kernel's integers become places in the functions of these headers and nowhere else (access.h). Their parameters are
// places too, or counters of loops; sizes and the plan's constants are plain. `P` is a place of any space.
template <class I> TK_FN I choose(bool condition, I yes, I no) { return condition ? yes : no; }
// Of three bits each.
template <class I> TK_FN I crossed(I a, I b) { return a ^ b; }
#if !defined(TK_LOCKSTEP_LIBRARY)
TK_FN i64 as_long(int v) { return v; }
TK_FN int as_int(i64 v) { return static_cast<int>(v); }
#endif

// What is left of an extent from a place on.
template <class L, Made P> TK_FN Place<Left, L> left_of(L extent, P at) { return extent - at; }
// Of `left` elements those that a vector of `most` has. (NVRTC's products have fewer instructions as it is written.)
template <class L> TK_FN auto at_most(Place<Left, L> left, int most) -> Place<Given<Existing>, decltype(as_int(L(0)))> {
  return as_int(TK_AS_PROVED(choose(left < most, L(left), L(most)), choose(left >= most, L(most), L(left))));
}

// The numbers of a thread: its lane in its group of 32, and that group in the block.
template <class I> TK_FN Place<Given<Counted>, I> lane_in_group(Place<Thread, I> thread) { return thread % 32; }
template <class I> TK_FN Place<Given<Counted>, I> group_of_thread(Place<Thread, I> thread) { return thread / 32; }

template <class I> TK_FN auto row_of_group(CounterOf<I> group) -> Place<Row, decltype(as_long(I(0)))> {
  return as_long(group);
}

// Work that all blocks share, one item each at a time: a block's first, and how far apart its items lie.
template <class I> TK_FN auto worker_of(Place<Block, I> block, int cluster) -> Place<Row, decltype(as_long(I(0)))> {
  return as_long(block / cluster);
}
template <class I> TK_FN auto workers_of(I blocks, int cluster) -> Place<Given<Step<Row>>, decltype(as_long(I(0)))> {
  return as_long(blocks / cluster);
}
template <class I> TK_FN auto asked_step(I blocks, int threads) -> Place<Given<Step<Row>>, decltype(as_long(I(0)))> {
  return as_long(blocks) * threads;
}
// A worker's row some turns on, or `none` behind the last. (Where both sides are computed first, clang's kernels for
// AMD have a few instructions more.)
template <class L>
TK_FN Place<Row, L> row_ahead(Place<Row, L> row, int turns, Place<Step<Row>, L> step, L end, L none) {
  return TK_AS_PROVED(row + turns * step < end ? row + turns * step : none,
                      choose(row + turns * step < end, row + turns * step, none));
}
// The position that lies `by` behind the first.
template <class L, Made P> TK_FN Place<Row, L> position_of(Place<Row, L> first, P by) { return first + by; }
template <class L>
TK_FN auto offset_of(Place<Row, L> position, Place<Row, L> first) -> Place<Given<Counted>, decltype(as_int(L(0)))> {
  return as_int(position - first);
}
// What memory says: an index or a label, one of `count`, because a check has refused all others.
template <class L> TK_FN Place<Row, L> given_row(L value, L count) {
  return TK_AS_PROVED(value, choose(value >= 0 && value < count, value, L(0)));
}
template <class L> TK_FN Place<Column, L> given_column(L value, L count) {
  return TK_AS_PROVED(value, choose(value >= 0 && value < count, value, L(0)));
}
// The same where a GPU asks once more. (Without that NVRTC takes more registers for rope.)
template <class L> TK_FN Place<Row, L> clamped_row(L value, L count) {
  return choose(value >= 0 && value < count, value, L(0));
}

// Two sides take turns, and so do `count` slots.
template <class I> TK_FN Place<Given<Counted>, I> other_side(CounterOf<I> side) { return 1 - side; }
template <class I> TK_FN Place<Given<Counted>, I> next_slot(CounterOf<I> slot, int count) {
  return choose(slot + 1 == count, I(0), slot + 1);
}

// Where a row of an operand begins.
template <class L> TK_FN Place<Begin<Column>, L> row_begin(Place<Row, L> row, L stride) { return row * stride; }
// A place in a row of a matrix that is known by where it begins.
template <class L> TK_FN Place<InMatrix, L> place_in_row(Place<Begin<Column>, L> row, Place<Column, L> col) {
  return row + col;
}
// The same of its first row.
template <class L> TK_FN Place<InMatrix, L> in_first_row(Place<Column, L> col) { return col + 0; }
// A place in a matrix whose rows have `cols` elements.
template <class L, Made R, Made P> TK_FN Place<InMatrix, L> matrix_place(R row, L cols, P col) {
  return row * cols + col;
}

// A row of pieces of `size`: how many hold `count` things, the last perhaps not full.
template <class I> TK_FN I pieces_of(I count, int size) { return (count + (size - 1)) / size; }

}  // namespace tokitai::device

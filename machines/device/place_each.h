// Where the each pattern's elements lie: a list of tensors is cut into pieces of turns * threads * wide elements, no
// piece belongs to two tensors, and a thread takes `wide` neighbouring elements of a piece per turn. The rows of a
// single tensor are shared by `lanes` threads each.
#pragma once
#include "machines/device/place.h"

namespace tokitai::device {

// One step of the search for the tensor that a piece belongs to: the middle of those it can still be.
template <class I> TK_FN Place<Given<InList>, I> middle_of(Place<InList, I> low, Place<InList, I> high) {
  return (low + high + 1) / 2;
}

// The last of them at the start, and once the middle is too far.
template <class I> TK_FN Place<Given<InList>, I> last_of_list(I count) { return count - 1; }
template <class I> TK_FN Place<Given<InList>, I> before_middle(Place<InList, I> middle) { return middle - 1; }

// The first element of a piece, in its tensor; `first_piece` is the tensor's.
template <class L>
TK_FN Place<Begin<Element>, L> piece_begin(Place<Row, L> piece, L first_piece, int turns, int threads, int wide) {
  return (piece - first_piece) * turns * threads * wide;
}
// The first element of a thread's vector in one turn.
template <class L, class I>
TK_FN Place<Element, L> vector_begin(Place<Begin<Element>, L> begin, CounterOf<I> turn, Place<Thread, I> thread,
                                     int threads, int wide) {
  return begin + (as_long(turn) * threads + thread) * wide;
}

// The first column of a thread's vector in one turn, of the columns from `begin` on.
template <class L, class I>
TK_FN Place<Column, L> lane_column(CounterOf<L> begin, CounterOf<I> turn, Place<TeamThread, I> thread, int lanes,
                                   int wide) {
  return begin + (as_long(turn) * lanes + thread) * wide;
}

// Pairs of elements: `period` of them for every 2 * period columns of a row. Where the first of a pair and the second
// lie, half a period apart or side by side; and its column in the table that repeats.
template <class L> TK_FN Place<Column, L> first_of_pair(Place<Column, L> pair, int period) {
  return pair / period * (2 * period) + pair % period;
}
template <class L> TK_FN Place<Column, L> second_of_pair(Place<Column, L> pair, int period) {
  return pair / period * (2 * period) + pair % period + period;
}
template <class L> TK_FN Place<Column, L> side_by_side(Place<Column, L> pair) { return pair * 2; }
template <class L> TK_FN Place<Column, L> table_column(Place<Column, L> pair, int period) { return pair % period; }

}  // namespace tokitai::device

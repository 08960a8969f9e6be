// Where the segment pattern's rows lie: which rows and columns a group of 32 threads works on, which positions of the
// sorted pairs make a chain, and where partial results of long runs are kept.
#pragma once
#include "machines/device/place.h"
#include "patterns/reduction.h"

namespace tokitai::device {

// Work that all blocks share: an item's first worker, and how far apart a worker's items lie. `each` workers per block.
template <class I, Made P>
TK_FN auto first_item(Place<Block, I> block, P worker, int each) -> Place<Row, decltype(as_long(I(0)))> {
  return as_long(block) * each + worker;
}
template <class I> TK_FN auto item_step(I blocks, int each) -> Place<Given<Step<Row>>, decltype(as_long(I(0)))> {
  return as_long(blocks) * each;
}

// A row is cut into slabs of 32 vectors, a vector per thread.
template <class L> TK_FN L slabs_of(L dim, int wide) { return pieces_of(dim, 32 * wide); }
template <class L, class I>
TK_FN Place<Column, L> slab_column(Place<Row, L> item, L slabs, CounterOf<I> lane, int wide) {
  return (item % slabs * 32 + lane) * wide;
}
// The first of the 32 sorted positions, or of the 32 rows, that an item is about.
template <class L> TK_FN Place<Row, L> window_begin(Place<Row, L> window) { return window * 32; }
// The window of an item, where every window has all slabs; and one of a round of windows.
template <class L> TK_FN Place<Row, L> window_of(Place<Row, L> item, L slabs) { return item / slabs; }
template <class L, class I> TK_FN Place<Row, L> window_in_round(Place<Row, L> round, CounterOf<I> scan, int scans) {
  return round * scans + scan;
}
// The column of a copied row: several slabs are on their way at once, from `begin` on.
template <class L, class I>
TK_FN Place<Column, L> copied_column(CounterOf<L> begin, CounterOf<I> turn, CounterOf<I> lane, int wide) {
  return begin + (turn * 32 + lane) * wide;
}

// The run of an index is cut into chains of `span` positions, from its first on.
template <class L> TK_FN auto starts_chain(Place<Row, L> position, L first, L span) {
  return (position - first) % span == 0;
}
template <class L> TK_FN L chain_stop(Place<Row, L> start, L stop) {
  return choose(stop - start < kChain, stop, start + kChain);
}
// Positions from one result of a level to the next: 32, 32^2, ...; a position so far back, and the r-th of them. (A
// copy of the span would cost NVRTC registers.)
template <class L> TK_FN Place<Given<Span>, L> next_span(const Place<Span, L>& span) { return span * kChain; }
template <class L> TK_FN Place<Row, L> position_before(Place<Row, L> position, Place<Span, L> span) {
  return position - span;
}
template <class L, class I>
TK_FN Place<Row, L> joined_position(Place<Row, L> first, CounterOf<I> r, Place<Span, L> span) {
  return first + r * span;
}
template <class L> TK_FN Place<Given<Step<Row>>, L> joined_step(int at_once, Place<Span, L> span) {
  return at_once * span;
}
template <class L> TK_FN L joined_stop(Place<Row, L> start, L stop, Place<Span, L> span) {
  return choose(start + span * kChain < stop, start + span * kChain, stop);
}
// The row of partial results of the chain at a sorted position. Only runs longer than 32 have any, so at most one run
// ends and one begins in 32 positions: two rows suffice for them.
template <class L> TK_FN Place<Row, L> partial_row_of(Place<Row, L> position, L first) {
  return position / kChain * 2 + choose(position == first, L(1), L(0));
}

// A thread's own cell of shared memory for a row on its way.
template <class I> TK_FN Place<StagedCell, I> row_cell(CounterOf<I> slot, Place<Thread, I> thread, int threads) {
  return slot * threads + thread;
}

}  // namespace tokitai::device

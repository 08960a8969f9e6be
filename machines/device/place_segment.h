// Where the segment pattern's rows lie: which rows and columns a group of 32 threads works on, which positions of the
// sorted pairs make a chain, and where partial results of long runs are kept.
#pragma once
#include "machines/device/place.h"
#include "patterns/reduction.h"

namespace tokitai::device {

// Work that all blocks share: an item's first worker, and how far apart a worker's items lie. `each` workers per block.
template <class I> TK_FN auto first_item(I block, I worker, int each) { return as_long(block) * each + worker; }
template <class I> TK_FN auto item_step(I blocks, int each) { return as_long(blocks) * each; }

// A row is cut into slabs of 32 vectors, a vector per thread.
template <class L> TK_FN L slabs_of(L dim, int wide) { return pieces_of(dim, 32 * wide); }
template <class L, class I> TK_FN L slab_column(L item, L slabs, I lane, int wide) {
  return (item % slabs * 32 + lane) * wide;
}
// The first of the 32 sorted positions, or of the 32 rows, that an item is about.
template <class L> TK_FN L window_begin(L window) { return window * 32; }
// The column of a copied row: several slabs are on their way at once, from `begin` on.
template <class L, class I> TK_FN L copied_column(L begin, I turn, I lane, int wide) {
  return begin + (turn * 32 + lane) * wide;
}

// The run of an index is cut into chains of `span` positions, from its first on.
template <class L> TK_FN auto starts_chain(L position, L first, L span) { return (position - first) % span == 0; }
template <class L> TK_FN L chain_stop(L start, L stop) { return choose(stop - start < kChain, stop, start + kChain); }
template <class L> TK_FN L joined_stop(L start, L stop, L span) {
  return choose(start + span * kChain < stop, start + span * kChain, stop);
}
// The row of partial results of the chain at a sorted position. Only runs longer than 32 have any, so at most one run
// ends and one begins in 32 positions: two rows suffice for them.
template <class L> TK_FN L partial_row_of(L position, L first) {
  return position / kChain * 2 + choose(position == first, L(1), L(0));
}

// A thread's own cell of shared memory for a row on its way.
template <class I> TK_FN I row_cell(I slot, I thread, int threads) { return slot * threads + thread; }

}  // namespace tokitai::device

// Where the row pattern's elements lie: which columns a thread owns, which cell it stages them through, where groups
// exchange their values, and which rows make a chain of a column sum.
#pragma once
#include "machines/device/place.h"
#include "patterns/reduction.h"

namespace tokitai::device {

// A block of 2048 columns is held by 256 / wide threads; the canonical lane l belongs to thread l / wide of them, so a
// lane's whole chain lies in one thread.
template <class I> TK_FN I held_block(I thread, int wide) { return thread / (256 / wide); }
template <class I> TK_FN I first_lane(I thread, int wide) { return thread % (256 / wide) * wide; }
template <class I> TK_FN I column_of(I block, I chunk, I lane) { return block * 2048 + chunk * 256 + lane; }

// The teams of a block of threads, each with a row of its own.
template <class I> TK_FN I thread_in_team(I thread, int team) { return thread % team; }
template <class I> TK_FN I team_of(I thread, int team) { return thread / team; }
// The first block of columns of a thread: blocks of a cluster hold `held` of them each.
template <class I> TK_FN I first_block_of(I rank, I thread, int held, int wide) {
  return rank * held + held_block(thread, wide);
}
template <class I> TK_FN I column_blocks(I cols) { return pieces_of(cols, kBlock); }

// How many of a vector's elements exist where `left` columns are left.
template <class I> TK_FN I existing(I left, int wide) {
  return choose(left >= wide, I(wide), choose(left > 0, left, I(0)));
}
template <class I> TK_FN auto whole_block(I block, I cols) { return (block + 1) * kBlock <= cols; }

// Where a column lies: the inverse of column_of; and of a lane, the thread of its block of columns and the element.
template <class I> struct ColumnPlace {
  I block, chunk, lane;
};
template <class I> TK_FN ColumnPlace<I> place_of_column(I column) {
  return {column / 2048, column % 2048 / 256, column % 256};
}
template <class I> TK_FN I owner_of_lane(I lane, int wide) { return lane / wide; }
template <class I> TK_FN I element_of_lane(I lane, int wide) { return lane % wide; }

// A thread's staged cell of shared memory: neighbouring threads lie side by side.
template <class I>
TK_FN I staged_cell(I stage, I operand, I chunk, I piece, I thread, int operands, int chunks, int pieces, int threads) {
  return (((stage * operands + operand) * chunks + chunk) * pieces + piece) * threads + thread;
}

// A group of 32 threads among all that share a row, in the order of the columns.
template <class I> TK_FN I group_in_row(I block, I thread, int groups, int column_threads) {
  return block * groups + thread % column_threads / 32;
}
// The box: one value per group of 32 threads and term, of two reductions in flight.
template <class I> TK_FN I box_slot(I parity, I term, I group, I groups) {
  return (parity * 3 + term) * groups + group;
}
// Floats of a block's workspace where rows do not stay on chip: a made row, and behind it the box of one reduction.
template <class L, class I> TK_FN L scratch_size(L cols, I blocks, int groups) {
  return cols + as_long(3) * blocks * groups;
}

// The first row of a team; the next ones follow workers * teams apart.
template <class L, class I> TK_FN L first_row_of(L worker, const I& team, int teams) { return worker * teams + team; }

// Column sums: a chain's rows, and where its row of partial results begins among those of both sums.
template <class L> TK_FN L chain_begin(L chain) { return chain * kChain; }
template <class L> TK_FN L chain_end(L chain, L count) {
  return choose(chain_begin(chain + 1) < count, chain_begin(chain + 1), count);
}
template <class L, class I> TK_FN L partial_begin(I which, L chain, L chains, L cols) {
  return (which * chains + chain) * cols;
}
// The second kernel: which sum a block works on, and which column of it a thread; `per_sum` blocks have 32 each.
template <class L, class I> TK_FN L sum_of(I block, L per_sum) { return block / per_sum; }
template <class L, class I> TK_FN L summed_column(I block, I thread, L per_sum) {
  return block % per_sum * 32 + thread % 32;
}

}  // namespace tokitai::device

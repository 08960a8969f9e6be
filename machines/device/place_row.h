// Where the row pattern's elements lie: which columns a thread owns, which cell it stages them through, where groups
// exchange their values, and which rows make a chain of a column sum.
#pragma once
#include "machines/device/place.h"
#include "patterns/reduction.h"

namespace tokitai::device {

// An element of this thread: which block of columns, chunk and lane of it.
struct At {
  Place<ColumnBlock, int> block;
  Counter chunk, element;
};

// A block of 2048 columns is held by 256 / wide threads; the canonical lane l belongs to thread l / wide of them, so a
// lane's whole chain lies in one thread.
template <class I> TK_FN Place<ColumnBlock, I> held_block(Place<TeamThread, I> thread, int wide) {
  return thread / (256 / wide);
}
template <class I> TK_FN Place<Lane, I> first_lane(Place<TeamThread, I> thread, int wide) {
  return thread % (256 / wide) * wide;
}
template <class I>
TK_FN Place<Column, I> column_of(Place<ColumnBlock, I> block, CounterOf<I> chunk, Place<Lane, I> lane) {
  return block * 2048 + chunk * 256 + lane;
}
// The lane of one of its elements.
template <class I> TK_FN Place<Lane, I> lane_of(Place<Lane, I> first, CounterOf<I> element) { return first + element; }

// The teams of a block of threads, each with a row of its own.
template <class I> TK_FN Place<TeamThread, I> thread_in_team(Place<Thread, I> thread, int team) {
  return thread % team;
}
template <class I> TK_FN Place<Team, I> team_of(Place<Thread, I> thread, int team) { return thread / team; }
// The first block of columns of a thread: blocks of a cluster hold `held` of them each.
template <class I>
TK_FN Place<ColumnBlock, I> first_block_of(Place<Rank, I> rank, Place<TeamThread, I> thread, int held, int wide) {
  return rank * held + held_block(thread, wide);
}
template <class I> TK_FN I column_blocks(I cols) { return pieces_of(cols, kBlock); }

// How many of a vector's elements exist where `left` columns are left. (Asked the other way round, left >= wide first,
// NVRTC's kernels are up to a third longer.)
template <class I> TK_FN Place<Given<Existing>, I> existing(Place<Left, I> left, int wide) {
  return choose(left < wide, choose(left > 0, I(left), I(0)), I(wide));
}
template <class I> TK_FN auto whole_block(Place<ColumnBlock, I> block, I cols) { return (block + 1) * kBlock <= cols; }

// Where a column lies: the inverse of column_of; and of a lane, the thread of its block of columns and the element.
template <class I> struct ColumnPlace {
  Place<ColumnBlock, I> block;
  Place<Given<Counted>, I> chunk;
  Place<Lane, I> lane;
};
template <class I> TK_FN ColumnPlace<I> place_of_column(Place<Column, I> column) {
  return {column / 2048, column % 2048 / 256, column % 256};
}
template <class I> TK_FN Place<Given<Counted>, I> owner_of_lane(Place<Lane, I> lane, int wide) { return lane / wide; }
template <class I> TK_FN Place<Given<Counted>, I> element_of_lane(Place<Lane, I> lane, int wide) { return lane % wide; }
// A thread's elements of a chunk lie in cells of `per_piece`; cells are filled in parts where an access is smaller.
template <class I> TK_FN Place<Given<Counted>, I> piece_of(CounterOf<I> element, int per_piece) {
  return element / per_piece;
}
template <class I> TK_FN Place<Given<Counted>, I> place_in_piece(CounterOf<I> element, int per_piece) {
  return element % per_piece;
}
template <class I> TK_FN Place<Given<Counted>, I> part_of(CounterOf<I> piece, CounterOf<I> part, int parts) {
  return piece * parts + part;
}

// A thread's staged cell of shared memory: neighbouring threads lie side by side. An operand has `pieces` of a chunk's
// `all`, behind those of the operands `before` it.
template <class I>
TK_FN Place<StagedCell, I> staged_cell(CounterOf<I> stage, CounterOf<I> chunk, CounterOf<I> piece,
                                       Place<Thread, I> thread, int before, int pieces, int all, int chunks,
                                       int threads) {
  return ((stage * all + before) * chunks + chunk * pieces + piece) * threads + thread;
}

template <class I> TK_FN Place<Given<Counted>, I> lane_in_team(Place<TeamThread, I> thread) { return thread % 32; }
// A group of 32 threads among all that share a row, in the order of the columns.
template <class I>
TK_FN Place<Group, I> group_in_row(Place<ColumnBlock, I> block, Place<TeamThread, I> thread, int groups,
                                   int column_threads) {
  return block * groups + thread % column_threads / 32;
}
// The same by number, where all blocks' groups are read: `b` blocks behind the first.
template <class I>
TK_FN Place<Group, I> group_of_block(CounterOf<I> first, CounterOf<I> b, CounterOf<I> g, int groups) {
  return (first + b) * groups + g;
}
// The box: one value per group of 32 threads and term, of two reductions in flight.
template <class I>
TK_FN Place<BoxSlot, I> box_slot(CounterOf<I> parity, CounterOf<I> term, Place<Group, I> group, I groups) {
  return (parity * 3 + term) * groups + group;
}
// Behind both halves of the box, the picked value of each.
template <class I> TK_FN Place<Begin<Counted>, I> picks_begin(I groups) { return 6 * groups; }
// Floats of a block's workspace where rows do not stay on chip: the made rows, and behind them the box of one
// reduction.
template <class L, class I> TK_FN L scratch_size(L cols, int made, I blocks, int groups) {
  return made * cols + as_long(3) * blocks * groups;
}

// Where a block's part begins, its made rows and the box in it; and where the parts of all blocks end, the partial
// results.
template <class L, class I> TK_FN Place<Begin<Column>, L> scratch_begin(Place<Block, I> block, L size) {
  return block * size;
}
template <class L> TK_FN Place<Begin<Column>, L> made_begin(Place<Begin<Column>, L> begin, int which, L cols) {
  return begin + which * cols;
}
template <class L> TK_FN Place<Begin<BoxSlot>, L> scratch_box(Place<Begin<Column>, L> begin, int made, L cols) {
  return begin + made * cols;
}
template <class L, class I> TK_FN Place<Begin<Workspace>, L> scratch_end(I blocks, L size) { return blocks * size; }

// The first row of a team; the next ones follow workers * teams apart.
template <class L, Made P> TK_FN Place<Row, L> first_row_of(Place<Row, L> worker, const P& team, int teams) {
  return worker * teams + team;
}
template <class L> TK_FN Place<Given<Step<Row>>, L> row_step(Place<Step<Row>, L> workers, int teams) {
  return workers * teams;
}

// Column sums: a chain's rows, and where its row of partial results begins among those of all sums.
template <class L> TK_FN Place<Row, L> chain_begin(Place<Row, L> chain) { return chain * kChain; }
template <class L> TK_FN L chain_end(Place<Row, L> first, L count) {
  return choose(first + kChain < count, first + kChain, count);
}
template <class L> TK_FN Place<Row, L> chain_of(Place<Row, L> row) { return row / kChain; }
template <class L, class I>
TK_FN Place<Begin<Column>, L> partial_begin(CounterOf<I> which, Place<Row, L> chain, L chains, L cols) {
  return (which * chains + chain) * cols;
}
// The same behind what blocks have in front of it; and sums of one value per row: level by level.
template <class L, class I>
TK_FN Place<Begin<Column>, L> partial_begin_behind(Place<Begin<Workspace>, L> behind, CounterOf<I> which,
                                                   Place<Row, L> chain, L chains, L cols) {
  return behind + partial_begin(which, chain, chains, cols);
}
template <class L> TK_FN Place<Begin<Row>, L> values_begin(Place<Begin<Workspace>, L> behind) { return behind + 0; }
template <class L> TK_FN Place<Begin<Row>, L> level_begin(L results) { return results; }
template <class I> TK_FN auto row_of_thread(Place<Thread, I> thread) -> Place<Row, decltype(as_long(I(0)))> {
  return as_long(thread);
}
// Both regions of the second kernel hold all `sums`, `rows` results each: the first kernel's, and one behind it.
template <class L, class I> TK_FN Place<Begin<InMatrix>, L> sum_begin(CounterOf<I> which, L rows, L cols) {
  return which * rows * cols;
}
template <class L, class I>
TK_FN Place<Begin<InMatrix>, L> second_sum_begin(CounterOf<I> which, int sums, L rows, L second, L cols) {
  return sums * rows * cols + which * second * cols;
}
template <class L> TK_FN Place<Begin<Workspace>, L> told_begin(L floats) { return floats; }
template <class L, class I> TK_FN Place<Row, L> chained_row(Place<Row, L> chain, CounterOf<I> r) {
  return chain * kChain + r;
}
// The second kernel: which sum a block works on, and which column of it a thread; `per_sum` blocks have 32 each.
template <class L, class I> TK_FN L sum_of(Place<Block, I> block, L per_sum) { return block / per_sum; }
template <class L, class I>
TK_FN auto sum_number(Place<Block, I> block, L per_sum) -> Place<Given<Counted>, decltype(as_int(L(0)))> {
  return as_int(sum_of(block, per_sum));
}
template <class L, class I>
TK_FN Place<Column, L> summed_column(Place<Block, I> block, Place<Thread, I> thread, L per_sum) {
  return block % per_sum * 32 + thread % 32;
}

}  // namespace tokitai::device

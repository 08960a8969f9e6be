// Where the tile pattern's elements lie: which outputs a thread owns, which elements of the factors it brings, and
// where they lie in shared memory.
#pragma once
#include "machines/device/place.h"
#include "machines/device/tile_shape.h"

namespace tokitai::device {

// The first row and column of a block's tile.
template <class L, class I>
TK_FN Place<Given<InTile>, L> tile_first_row(Place<Block, I> block, L tiles_across, int rows) {
  return block / tiles_across * rows;
}
template <class L, class I>
TK_FN Place<Given<InTile>, L> tile_first_col(Place<Block, I> block, L tiles_across, int cols) {
  return block % tiles_across * cols;
}
// A block's line of tiles; and where there are matrices of so many lines each, its first row in its own.
template <class L, class I> TK_FN Place<Row, L> line_of_tiles(Place<Block, I> block, L tiles_across) {
  return block / tiles_across;
}
template <class L> TK_FN Place<Given<InTile>, L> tile_row_in_matrix(Place<Row, L> line, L down, int rows) {
  return line % down * rows;
}

// A thread's rows and columns of the tile come four at a time, spread over it, so that a group of 32 threads reads
// neighbouring words of shared memory.
template <class I>
TK_FN Place<TileLine, I> tile_row(Place<Thread, I> thread, CounterOf<I> i, int rows, int thread_rows, int across) {
  const I group = thread / 32, lane = thread % 32;
  const I down = group / (across / 8) * 4 + lane / 8;
  return i / 4 * (rows / (thread_rows / 4)) + down * 4 + i % 4;
}
template <class I>
TK_FN Place<TileLine, I> tile_col(Place<Thread, I> thread, CounterOf<I> j, int cols, int thread_cols, int across) {
  const I group = thread / 32, lane = thread % 32;
  const I beside = group % (across / 8) * 8 + lane % 8;
  return j / 4 * (cols / (thread_cols / 4)) + beside * 4 + j % 4;
}

// The first of four.
template <class I> TK_FN Place<Given<Counted>, I> first_of_four(CounterOf<I> q) { return 4 * q; }
// The output's row and column of a place in the tile.
template <class L, class I> TK_FN Place<Row, L> output_row(Place<InTile, L> first, Place<TileLine, I> row) {
  return first + row;
}
template <class L, class I> TK_FN Place<Column, L> output_col(Place<InTile, L> first, Place<TileLine, I> col) {
  return first + col;
}

// A factor's vectors: `outer` runs along the output, `inner` along the chain; memory runs along the one or the other.
template <class I> TK_FN Place<Given<Counted>, I> vector_of(CounterOf<I> turn, Place<Thread, I> thread, int threads) {
  return turn * threads + thread;
}
template <class I>
TK_FN constexpr Place<Given<Counted>, I> vector_outer(CounterOf<I> vector, bool along_outer, int across, int wide) {
  return along_outer ? vector % across * wide : vector / across;
}
template <class I>
TK_FN constexpr Place<Given<Counted>, I> vector_inner(CounterOf<I> vector, bool along_outer, int across, int wide) {
  return along_outer ? vector / across : vector % across * wide;
}
// Where a factor's element is staged: as [inner][outer].
template <class I> TK_FN Place<StagedWord, I> staged_word(CounterOf<I> inner, CounterOf<I> outer, int pitch) {
  return inner * pitch + outer;
}
// From a vector's first element to another of its elements.
template <class I> TK_FN Place<Given<Counted>, I> staged_element(CounterOf<I> element, bool along_outer, int pitch) {
  return along_outer ? I(element) : element * pitch;
}
// Two stages, each with both factors, one line per inner index.
template <class I> TK_FN Place<Begin<StagedWord>, I> stage_begin(CounterOf<I> stage, int buffer) {
  return stage * buffer;
}
template <class I> TK_FN Place<Begin<StagedWord>, I> second_factor(I pitch_a, int inner) { return pitch_a * inner; }
template <class I> TK_FN Place<Begin<TileLine>, I> line_begin(CounterOf<I> inner, int pitch) { return inner * pitch; }

// Where a factor's vector lies in memory: an inner index is the chain's first plus one of the tile; which of both runs
// along the stored rows, and how far a turn's vectors lie below the last turn's.
template <class L, class I> TK_FN Place<Given<InTile>, L> in_tile(Place<InTile, L> first, CounterOf<I> place) {
  return first + place;
}
template <class L> TK_FN Place<Row, L> stored_row(bool along_outer, Place<InTile, L> outer, Place<InTile, L> inner) {
  return along_outer ? L(inner) : L(outer);
}
template <class L> TK_FN Place<Column, L> stored_col(bool along_outer, Place<InTile, L> outer, Place<InTile, L> inner) {
  return along_outer ? L(outer) : L(inner);
}
template <class L> TK_FN Place<Given<Step<Row>>, L> stored_step(L stride, int rows) { return stride * rows; }
// The chain's inner indices, `inner` at a time.
template <class L> TK_FN Place<Given<InTile>, L> chain_next(Place<InTile, L> first, int inner) { return first + inner; }

}  // namespace tokitai::device

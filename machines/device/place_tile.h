// Where the tile pattern's elements lie: which outputs a thread owns, which elements of the factors it brings, and
// where they lie in shared memory.
#pragma once
#include "machines/device/place.h"
#include "machines/device/tile_shape.h"

namespace tokitai::device {

// The first row and column of a block's tile.
template <class L, class I> TK_FN L tile_first_row(I block, L tiles_across, int rows) {
  return block / tiles_across * rows;
}
template <class L, class I> TK_FN L tile_first_col(I block, L tiles_across, int cols) {
  return block % tiles_across * cols;
}

// A thread's rows and columns of the tile come four at a time, spread over it, so that a group of 32 threads reads
// neighbouring words of shared memory.
template <class I> TK_FN I tile_row(I thread, I i, int rows, int thread_rows, int across) {
  const I group = thread / 32, lane = thread % 32;
  const I down = group / (across / 8) * 4 + lane / 8;
  return i / 4 * (rows / (thread_rows / 4)) + down * 4 + i % 4;
}
template <class I> TK_FN I tile_col(I thread, I j, int cols, int thread_cols, int across) {
  const I group = thread / 32, lane = thread % 32;
  const I beside = group % (across / 8) * 8 + lane % 8;
  return j / 4 * (cols / (thread_cols / 4)) + beside * 4 + j % 4;
}

// A factor's vectors: `outer` runs along the output, `inner` along the chain; memory runs along the one or the other.
template <class I> TK_FN I vector_of(I turn, I thread, int threads) { return turn * threads + thread; }
template <class I> constexpr TK_FN I vector_outer(I vector, bool along_outer, int across, int wide) {
  return along_outer ? vector % across * wide : vector / across;
}
template <class I> constexpr TK_FN I vector_inner(I vector, bool along_outer, int across, int wide) {
  return along_outer ? vector / across : vector % across * wide;
}
// Where a factor's element is staged: as [inner][outer].
template <class I> TK_FN I staged_word(I inner, I outer, int pitch) { return inner * pitch + outer; }

}  // namespace tokitai::device

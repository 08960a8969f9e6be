// Where the tile pattern's elements lie: which outputs a thread owns, which elements of the factors it brings, and
// where they lie in shared memory.
#pragma once
#include "machines/device/kinds.h"
#include "machines/device/place.h"
#include "machines/device/plans.h"

namespace tokitai::device {

// What a plan says about a block of threads and its shared memory, which holds two stages of both factors.
struct TileShape {
  int pitch_a, pitch_b;  // floats from one inner index to the next
  int across;            // threads side by side
  int threads;
  int buffer;  // floats of one stage
};
constexpr TileShape tile_shape(const TilePlan& p) {
  const int pitch_a = p.rows + 4, pitch_b = p.cols + 4, across = p.cols / p.thread_cols;
  return {pitch_a, pitch_b, across, p.rows / p.thread_rows * across, (pitch_a + pitch_b) * p.inner};
}

// One factor's share of a tile, cut into vectors of one memory access.
struct LoaderShape {
  int vector;   // elements
  int across;   // vectors side by side in a stored row of the tile
  int vectors;  // of the tile
  int turns;    // vectors of a thread, at the most
  int rows;     // stored rows from one turn to the next
};
constexpr LoaderShape loader_shape(const TilePlan& p, int operand, bool along_outer, int outer) {
  const int threads = tile_shape(p).threads, vector = p.access[operand] / bytes_of(kind_at(p.kinds, operand));
  const int across = (along_outer ? outer : p.inner) / vector, vectors = outer * p.inner / vector;
  return {vector, across, vectors, (vectors + threads - 1) / threads, threads / across};
}

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

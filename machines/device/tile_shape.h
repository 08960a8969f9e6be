// What a plan of the tile pattern says about the layout of a block of threads and of its shared memory.
#pragma once
#include "machines/device/access.h"
#include "machines/device/kinds.h"
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

constexpr Place<Byte<StagedWord>, int> factors_byte() { return 0; }

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

}  // namespace tokitai::device

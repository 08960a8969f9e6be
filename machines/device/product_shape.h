// What a plan of a tensor-core product says about a block of threads and its shared memory: the ring of slots, staged
// outputs, the scales of the slots' blocks, and two gates for each slot.
#pragma once
#include "machines/device/access.h"
#include "machines/device/plans.h"

namespace tokitai::device {

inline constexpr int kTileRows = 128;   // of a block's tile: 64 for each of two groups of 128 threads
inline constexpr int kWideBytes = 128;  // of a factor's line in a slot, and of an output's in a box
inline constexpr int kProductThreads = 384;
inline constexpr int kLoaderRegisters = 40, kMultiplierRegisters = 232;
inline constexpr int kBoxBytes = 16 * kWideBytes;  // staged outputs of 16 rows
inline constexpr int kPackThreads = 256;

struct ProductShape {
  int planes;      // that a factor has: its values, or high and low integers, a slot each
  int deep;        // contracted indices of a slot
  int left_bytes;  // of the left factor in a slot; the right one lies behind
  int slot_bytes, scale_bytes;
  int out_cols;                       // of a box
  int staging, scales, gates, bytes;  // where they begin in shared memory, and its end
  int releases;                       // groups of 32 threads that have read a slot before it is filled again
};
constexpr ProductShape product_shape(const ProductPlan& p) {
  ProductShape s{};
  const bool integers = p.arithmetic == Arithmetic::block15;
  s.planes = integers ? 2 : 1;
  s.deep = integers ? kWideBytes : kWideBytes / 2;
  s.left_bytes = kTileRows * kWideBytes;
  s.slot_bytes = s.left_bytes + p.cols * kWideBytes;
  s.scale_bytes = integers ? (kTileRows + p.cols) * 2 : 0;
  s.out_cols = kWideBytes / p.result;
  s.staging = p.slots * s.slot_bytes;
  s.scales = s.staging + 8 * p.boxes * kBoxBytes;
  s.gates = s.scales + p.slots * s.scale_bytes;
  s.bytes = s.gates + p.slots * 16;
  s.releases = 8 * p.cluster_rows * p.cluster_cols;
  return s;
}

constexpr Place<Byte<RingHalf>, int> ring_byte() { return 0; }
constexpr Place<Byte<OutWord>, int> staging_byte(const ProductPlan& p) { return product_shape(p).staging; }
constexpr Place<Byte<OutElement>, int> staged_elements_byte(const ProductPlan& p) { return product_shape(p).staging; }
constexpr Place<Byte<ScaleHalf>, int> scales_byte(const ProductPlan& p) { return product_shape(p).scales; }
constexpr Place<Byte<Counted>, int> gates_byte(const ProductPlan& p) { return product_shape(p).gates; }

// Shared memory of a pass that turns a factor's 128 by 64 integers: two planes, largest magnitudes of each group of
// threads, what each line is scaled by, and which of 32 lines have none.
inline constexpr int kTurnedWords = 2 * 64 * 32;
inline constexpr int kPackShared = (kTurnedWords + 8 * 64 + 64 + 2) * 4;
constexpr Place<Byte<TurnedWord>, int> turned_byte() { return 0; }
constexpr Place<Byte<Counted>, int> largest_byte() { return kTurnedWords * 4; }
constexpr Place<Byte<Counted>, int> ups_byte() { return (kTurnedWords + 8 * 64) * 4; }
constexpr Place<Byte<Counted>, int> marked_byte() { return (kTurnedWords + 8 * 64 + 64) * 4; }

// What the planner and the kernels of such a pass count alike: a factor of `lines` by `inner`.
template <class L> constexpr L packed_parts(L count, int size) { return (count + (size - 1)) / size; }
template <class L> constexpr L padded_inner(L inner) { return packed_parts(inner, 128) * 128; }
template <class L> constexpr L padded_lines(L lines) { return packed_parts(lines, 64) * 64; }
template <class L> constexpr L planes_bytes(L lines, L inner) { return lines * padded_inner(inner) * 2; }
template <class L> constexpr L scales_bytes(L lines, L inner) {
  return packed_parts(inner, 128) * padded_lines(lines) * 2;
}
template <class L> constexpr L row_pieces(L cols) { return packed_parts(cols, 8); }
template <class L> constexpr L repacked_bytes(L rows, L cols) { return rows * row_pieces(cols) * 16; }
template <class L> constexpr L repacks_of(L rows, L cols) {
  return packed_parts(rows, 2) * packed_parts(row_pieces(cols), 512);
}
template <class L> constexpr L passes_across(L lines, L inner) {
  return packed_parts(lines, 64) * packed_parts(inner, 128);
}
template <class L> constexpr L passes_along(L lines, L inner, int deep) {
  return packed_parts(lines, 64) * 4 * packed_parts(packed_parts(inner, 128), deep);
}

}  // namespace tokitai::device

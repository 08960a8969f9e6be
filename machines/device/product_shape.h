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
inline constexpr int kSlotThreads = 256;
inline constexpr int kSlotGroup = 0, kSlotFirst = 1, kSlotEnd = 2;  // words of a slot's entry

struct ProductShape {
  int planes;      // that a factor has: its values, or high and low integers, a slot each
  int deep;        // contracted indices of a slot
  int left_bytes;  // of the left factor in a slot; the right one lies behind
  int slot_bytes, scale_bytes;
  int out_cols;                       // of a box
  int staging, scales, gates, bytes;  // where they begin in shared memory, and its end
  int releases;                       // groups of 32 threads that have read a slot before it is filled again
};
// Whether what lies behind a group's last row is cleared in its slot: the copy engine fetches the next group's rows.
constexpr bool clears(const ProductPlan& p) { return p.grouped == Grouped::sums && p.arithmetic == Arithmetic::hopper; }
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
  s.bytes = s.gates + p.slots * 16 + (clears(p) ? 8 : 0);
  s.releases = 8 * p.cluster_rows * p.cluster_cols;
  return s;
}

constexpr Place<Byte<RingHalf>, int> ring_byte() { return 0; }
constexpr Place<Byte<OutWord>, int> staging_byte(const ProductPlan& p) { return product_shape(p).staging; }
constexpr Place<Byte<OutElement>, int> staged_elements_byte(const ProductPlan& p) { return product_shape(p).staging; }
constexpr Place<Byte<ScaleHalf>, int> scales_byte(const ProductPlan& p) { return product_shape(p).scales; }
constexpr Place<Byte<Counted>, int> slot_counts_byte() { return 0; }  // of threads that count slots
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
// Slots of so many rows that groups need at the most, and the bytes of their table: the groups' first slots, and what
// is said of each slot.
template <class L> constexpr L slots_of(L rows, L groups, int slot_rows) { return rows / slot_rows + groups; }
template <class L> constexpr L first_slots_bytes(L groups) { return packed_parts(groups + 1, 32) * 128; }
template <class L> constexpr L slot_table_bytes(L slots, L groups) {
  return first_slots_bytes(groups) + packed_parts(slots, 8) * 128;
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

// Both factors as they are packed: so many lines by the contracted index, so many matrices of that, and where they and
// their scales begin in the workspace. Integers of groups lie in slots, or in a matrix each; rows that are merely laid
// out anew keep their order.
template <class L> struct PackedFactor {
  L lines, inner, matrices, planes, scales;
};
template <class L> struct Packing {
  PackedFactor<L> left, right;
  L bytes;  // of the workspace
};
template <class L>
constexpr Packing<L> packing_of(const PackPlan& p, bool left_along, bool right_along, L rows, L cols, L inner,
                                L groups) {
  const bool by_rows = p.grouped == Grouped::rows, summed = p.grouped == Grouped::sums;
  const L slots = p.slot_rows == 0 ? L(0) : slots_of(by_rows ? rows : inner, groups, p.slot_rows);
  const L table = p.slot_rows == 0 ? L(0) : slot_table_bytes(slots, groups);
  if (p.arithmetic == Arithmetic::block15) {
    const L left_lines = by_rows ? slots * p.slot_rows : rows, deep = summed ? slots * p.slot_rows : inner;
    const L matrices = by_rows ? groups : L(1), right = table + planes_bytes(left_lines, deep);
    const L left_scales = right + matrices * planes_bytes(cols, deep);
    const L right_scales = left_scales + scales_bytes(left_lines, deep);
    return {{left_lines, deep, L(1), table, left_scales},
            {cols, deep, matrices, right, right_scales},
            right_scales + matrices * scales_bytes(cols, deep)};
  }
  const L right_lines = by_rows && !right_along ? groups * cols : cols;
  const L right_inner = by_rows && right_along ? groups * inner : inner;
  const L right = table + (!p.packed[0] ? L(0)
                           : left_along ? repacked_bytes(inner, rows)
                                        : repacked_bytes(rows, inner));
  return {{rows, inner, L(1), table, L(0)},
          {right_lines, right_inner, L(1), right, L(0)},
          right + (!p.packed[1]  ? L(0)
                   : right_along ? repacked_bytes(right_inner, right_lines)
                                 : repacked_bytes(right_lines, right_inner))};
}

}  // namespace tokitai::device

// Grouped products of the tile pattern on a GPU's ordinary units: a block works on its tile as on any, from where its
// group's rows begin.
#pragma once
#include "machines/device/groups.h"
#include "machines/device/tile.h"

namespace tokitai::device {

template <class D, TilePlan P> struct GroupedTileMachine : TileMachine<D, P> {
  using TileMachine<D, P>::arguments_;
  TK_FN explicit GroupedTileMachine(const Arguments& a) : TileMachine<D, P>(a) {}

  TK_FN i64 offset_(i64 i) const { return offset_at<kind_at(P.kinds, P.offsets)>(arguments_, P.offsets, i); }

  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  TK_FN void grouped_product(C, A, B, Offsets, Start = {}, How = {}) const {
    static_assert(Offsets::index == P.offsets);
    const i64 rows = arguments_.extent[0], cols = arguments_.extent[1], inner = arguments_.extent[2];
    const i64 groups = arguments_.extent[3], across = pieces_of(cols, P.cols);
    const Place<InTile, i64> first_col = tile_first_col(block_index(), across, P.cols);
    const Place<Row, i64> line = line_of_tiles(block_index(), across);
    if constexpr (FactorOf<A>::transposed) {  // over a group's rows: the output is a matrix per group
      const i64 down = pieces_of(rows, P.rows), group = line / down, begin = offset_(group);
      const Place<Row, i64> own = given_row(begin, inner + 1), matrix = given_row(group * rows, groups * rows);
      this->template multiply_tile_<C, A, B, Start, Nothing>(tile_row_in_matrix(line, down, P.rows), first_col, rows,
                                                             cols, offset_(group + 1) - begin, own, own, matrix);
    } else {
      if (line >= all_slots(arguments_)) return;
      const i64 first = slot_entry(arguments_, line, kSlotFirst), end = slot_entry(arguments_, line, kSlotEnd);
      const i64 height = FactorOf<B>::transposed ? cols : inner;
      const Place<Row, i64> own = given_row(first, rows);
      const Place<Row, i64> matrix = given_row(slot_entry(arguments_, line, kSlotGroup) * height, groups * height);
      this->template multiply_tile_<C, A, B, Start, Nothing>(0, first_col, end - first, cols, inner, own, matrix, own);
    }
  }
};

template <class D, TilePlan P> TK_FN void grouped_tile_kernel(const Arguments& arguments) {
  await_earlier();
  if (refused(arguments)) return;
  const GroupedTileMachine<D, P> m(arguments);
  D::tile(m);
}

}  // namespace tokitai::device

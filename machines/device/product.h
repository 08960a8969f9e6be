// Matrix products on Hopper's tensor cores, in the arithmetics hopper and block15. The blocks stay and take tiles in
// turn. In each, one thread has the copy engine fill a ring of slots with 128 bytes of the contracted index of both
// factors; two groups of 128 threads multiply what is there and free the slots again.
#pragma once
#include "machines/device/alias_tensor.h"
// The words come first: behind memory.h no kernel may say what they are made of.
#include "machines/device/groups.h"
#include "machines/device/product_integers.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, ProductPlan P> struct ProductMachine : D::Names {
  using Ring = ProductRing<P>;
  using Turn = typename Ring::Turn;
  static constexpr ProductShape S = Ring::S;
  static constexpr bool kIntegers = P.arithmetic == Arithmetic::block15;
  static constexpr int kCluster = Ring::kCluster;
  static_assert(P.cols / S.out_cols % P.boxes == 0, "the next tile's first box follows this one's last");
  static_assert(P.cluster_rows == 1 || P.cluster_cols == 1, "all blocks of a cluster share one factor's tile");
  static constexpr u32 kEveryBlock = (1u << kCluster) - 1;
  static constexpr int kSums = P.cols / 2;  // of a thread
  using Sums = float[kSums];
  static constexpr bool kRows = P.grouped == Grouped::rows, kSummed = P.grouped == Grouped::sums;  // what groups cut

  const MappedArguments& mapped_;
  const Arguments& arguments_;
  TK_FN explicit ProductMachine(const MappedArguments& a) : mapped_(a), arguments_(a.arguments) {}

  TK_FN int rows_() const { return asked_anew(static_cast<int>(arguments_.extent[0])); }
  TK_FN int cols_() const { return asked_anew(static_cast<int>(arguments_.extent[1])); }
  TK_FN int cluster_rows_() const { return pieces_of(rows_(), kTileRows * P.cluster_rows); }
  TK_FN int cluster_cols_() const { return pieces_of(cols_(), P.cols * P.cluster_cols); }
  TK_FN int groups_() const { return asked_anew(static_cast<int>(arguments_.extent[3])); }
  // Lines of clusters' tiles, of all groups.
  TK_FN int lines_() const {
    if constexpr (kRows)
      return all_slots(arguments_);
    else
      return kSummed ? groups_() * cluster_rows_() : cluster_rows_();
  }
  TK_FN Place<ClusterLine, int> line_(Place<ClusterTile, int> tile) const {
    return walked_row(tile, lines_(), cluster_cols_(), P.band);
  }

  static TK_FN Counter below_() {
    return rank_below(kCluster > 1 ? cluster_rank() : Place<Rank, int>(0), P.cluster_rows);
  }
  static TK_FN Counter beside_() {
    return rank_beside(kCluster > 1 ? cluster_rank() : Place<Rank, int>(0), P.cluster_rows);
  }
  // The corner of a tile of this block. (Where it is asked for again, it was not kept in registers meanwhile.)
  TK_FN Place<Corner, int> row_(Place<ClusterTile, int> tile) const {
    if constexpr (kRows)
      return corner_behind(given_corner(slot_(tile, kSlotFirst), rows_()), below_(), kTileRows);
    else
      return tile_corner(kSummed ? line_in_matrix(line_(tile), cluster_rows_()) : line_(tile), below_(), P.cluster_rows,
                         kTileRows);
  }
  TK_FN Place<Corner, int> col_(Place<ClusterTile, int> tile) const {
    return tile_corner(walked_col(tile, lines_(), cluster_cols_(), P.band), beside_(), P.cluster_cols, P.cols);
  }
  template <class F> TK_FN void for_tiles_(F f) const {
    for (Place<ClusterTile, int> tile = first_cluster(block_index(), kCluster); tile < lines_() * cluster_cols_();
         tile += clusters_of(grid_size(), kCluster))
      f(tile);
  }

  // --- Groups. What the table says of a tile's slot.
  TK_FN int slot_(Place<ClusterTile, int> tile, Counter word) const {
    return slot_entry(arguments_, slot_of_line(line_(tile)), word);
  }
  // The tile's group: the matrix of it that the right factor has, or the output.
  TK_FN Counter group_(Place<ClusterTile, int> tile) const {
    if constexpr (kRows)
      return given_group(slot_(tile, kSlotGroup), groups_());
    else if constexpr (kSummed)
      return matrix_of_line(line_(tile), cluster_rows_());
    else
      return Counter(0);
  }
  TK_FN int offset_(i64 i) const {
    return static_cast<int>(offset_at<kind_at(P.kinds, P.offsets)>(arguments_, P.offsets, i));
  }
  // Where the group's rows begin, which are summed over, and how many there are.
  TK_FN Place<Corner, int> summed_first_(Counter group) const {
    return given_corner(offset_(group), static_cast<int>(arguments_.extent[2]) + 1);
  }
  TK_FN int summed_(Counter group) const { return offset_(group + 1) - offset_(group); }
  TK_FN int inner_(Place<ClusterTile, int> tile) const {
    if constexpr (kSummed)
      return summed_(group_(tile));
    else
      return static_cast<int>(arguments_.extent[2]);
  }
  // Of the contracted index, what a slot of the ring holds at a time.
  TK_FN int blocks_(Place<ClusterTile, int> tile) const { return pieces_of(inner_(tile), S.deep); }
  // Where an output lies that is in this row of its product, and whether there is such a row.
  TK_FN Place<Row, i64> out_row_(Counter group, Place<Row, i64> row) const {
    if constexpr (kSummed)
      return row_of_matrix(row_of_group(group), i64{arguments_.extent[0]}, row);
    else
      return row;
  }
  TK_FN i64 rows_end_(Place<ClusterTile, int> tile) const {
    if constexpr (kRows)
      return slot_(tile, kSlotEnd);
    else
      return arguments_.extent[0];
  }

  // --- The loader. This block's part of `lines` lines of a factor, for the blocks that share them.
  template <bool along_lines, int lines, int sharers>
  static TK_FN void load_factor_(const Map& map, Counter slot, int behind, Place<Corner, int> first, Counter share,
                                 Place<Corner, int> inner, Counter plane, Gate full) {
    constexpr int kOwn = lines / sharers;
    constexpr int kBoxes = along_lines ? kOwn / 64 : 1;
    static_assert(!along_lines || kOwn % 64 == 0, "a box has 64 lines");
    TK_UNROLL
    for (Counter box = 0; box < kBoxes; ++box) {
      const Counter line = part_line(share, box, kOwn);
      const SharedSpot<u16> to = shared<u16, RingHalf>(ring_byte()) + slot_half(slot, S.slot_bytes, behind, line);
      const Place<Corner, int> at = part_corner(first, line);
      const Place<Corner, int> x = along_lines ? at : inner, y = along_lines ? inner : at;
      if constexpr (sharers > 1)
        load_box_for(kEveryBlock, to, map, x, y, plane, full);
      else
        load_box(to, map, x, y, plane, full);
    }
  }
  template <bool left_along, bool right_along> TK_FN void load_() const {
    const Counter below = below_(), beside = beside_();
    Turn turn;
    for_tiles_([&](Place<ClusterTile, int> tile) {
      // Integers of groups of rows have been laid into their slots.
      const Place<Corner, int> row =
          kRows && kIntegers ? tile_corner(line_(tile), below, P.cluster_rows, kTileRows) : row_(tile);
      const Place<Corner, int> col = col_(tile);
      const Counter group = group_(tile);
      const Counter matrix = kRows ? group : Counter(0);
      const int blocks = blocks_(tile);
      Place<Corner, int> first = slot_corner(Counter(0), S.deep);
      if constexpr (kSummed && kIntegers)
        first =
            tile_corner(given_slot(first_slot_at(arguments_, group), all_slots(arguments_) + 1), Counter(0), 1, S.deep);
      else if constexpr (kSummed)
        first = summed_first_(group);
      for (Counter block = 0; block < blocks; ++block) {
        const Place<Corner, int> inner = corner_behind(first, block, S.deep);
        for (Counter plane = 0; plane < S.planes; ++plane) {
          const Gate full = Ring::full(turn.slot);
          gate_await(Ring::free(turn.slot), turn.phase ^ 1);
          gate_expect(full, S.slot_bytes + (plane == 0 ? S.scale_bytes : 0));
          load_factor_<left_along, kTileRows, P.cluster_cols>(mapped_.map[kLeftMap], turn.slot, 0, row, beside, inner,
                                                              plane, full);
          load_factor_<right_along, P.cols, P.cluster_rows>(mapped_.map[kRightMap], turn.slot, S.left_bytes, col, below,
                                                            inner, matrix_plane(matrix, plane, S.planes), full);
          if constexpr (kIntegers)
            if (plane == 0) {
              const Shared<u16, ScaleHalf> scales =
                  shared<u16, ScaleHalf>(scales_byte(P)) + slot_scales(turn.slot, S.scale_bytes);
              const Place<Corner, int> at = scale_behind(first, block, S.deep);
              load_box(scales + first_scale(0), mapped_.map[kLeftScalesMap], row, at, 0, full);
              load_box(scales + first_scale(kTileRows), mapped_.map[kRightScalesMap], col, at, matrix, full);
            }
          turn = turn.next();
        }
      }
    });
  }

  // hopper: one chain of groups of 16; a slot's four products are on their way while the next slot is awaited.
  template <Kind K, bool started, bool left_along, bool right_along, class Begin>
  TK_FN void chain_(Sums& sums, Turn& turn, u32& cleared, int inner, Counter rows, Begin begin) const {
    const int blocks = pieces_of(inner, S.deep);
    begin(sums);
    if (kSummed && blocks == 0) return;
    Counter before = 0;
    for (int block = 0; block < blocks; ++block) {
      Ring::await(turn);
      if constexpr (clears(P))
        if (block == blocks - 1 && inner % S.deep != 0) clear_(turn.slot, inner % S.deep, cleared);
      const Factor a = Ring::left(turn.slot, rows), b = Ring::right(turn.slot);
      multiply_fence();
      TK_UNROLL
      for (Counter step = 0; step < 4; ++step)
        multiply<K, left_along, right_along>(sums, factor_behind(a, step_half(step, left_along)),
                                             factor_behind(b, step_half(step, right_along)),
                                             started || step > 0 || block > 0);
      multiply_commit();
      multiply_wait<1>();
      if (block > 0) Ring::release(before);
      before = turn.slot;
      turn = turn.next();
    }
    multiply_wait<0>();
    Ring::release(before);
  }

  // All rows of a slot's boxes but the first so many become zero, and no multiplier goes on before all are.
  static TK_FN void clear_(Counter slot, int rows, u32& phase) {
    const SharedSpot<u64> gate = Ring::full(Counter(2 * P.slots));
    TK_UNROLL
    for (Counter turn = 0; turn < 2; ++turn) {
      const Counter row = cleared_row(rows, thread_index(), turn);
      if (row >= S.deep) continue;
      TK_UNROLL
      for (Counter box = 0; box < S.slot_bytes / 8192; ++box)
        *cast<Words<4>>(shared<u16, RingHalf>(ring_byte()) +
                        cleared_half(slot, S.slot_bytes, box, row, thread_index())) = Words<4>{{0, 0, 0, 0}};
    }
    boxes_fence();
    warp_barrier();
    if (Ring::own_lane() == 0) gate_arrive(gate);
    gate_await(gate, phase);
    phase ^= 1;
  }

  // --- Outputs. Calls f(i, row, col) for each of a thread's sums, or each pair of neighbours.
  template <class Start> TK_FN void begin_(Sums& sums, Place<ClusterTile, int> tile, Counter rows) const {
    TK_UNROLL
    for (int i = 0; i < kSums; ++i) sums[i] = 0.0f;
    if constexpr (optional_<Start>() == Kind::f32) {
      const Counter lane = lane_index();
      const Place<Corner, int> col = col_(tile);
      TK_UNROLL
      for (Counter first = 0; first < 4; first += 2) {  // the sums of one row, then those of the other
        const Place<Row, i64> r = product_row(row_(tile), rows, Counter(sum_row(lane, first)));
        const bool exists = r < rows_end_(tile);
        const Global<u32, Column> line =
            elements<Kind::f32>(arguments_.operand[Start::index], out_row_(group_(tile), r));
        TK_UNROLL
        for (Counter i = 0; i < kSums; ++i) {
          const Place<Column, i64> c = product_col(col, Counter(sum_col(lane, i)));
          if (i % 4 / 2 == first / 2 && exists && c < arguments_.extent[1]) sums[i] = widen<Kind::f32>(line[c]);
        }
      }
    }
  }
  template <class O> static constexpr Kind optional_() {
    if constexpr (O::index < 0)
      return Kind::absent;
    else
      return kind_at(P.kinds, O::index);
  }
  template <class Bias> TK_FN void add_bias_(Sums& sums, Place<Corner, int> col) const {
    constexpr Kind K = optional_<Bias>();
    if constexpr (K != Kind::absent) {
      const Counter lane = lane_index();
      TK_UNROLL
      for (Counter i = 0; i < kSums; i += 4) {
        TK_UNROLL
        for (Counter e = 0; e < 2; ++e) {
          const Counter at = counted_on(i, e);
          const Place<Column, i64> c = product_col(col, Counter(sum_col(lane, at)));
          if (c >= arguments_.extent[1]) continue;
          const float x = widen<K>(global<const Raw<K>, Column>(arguments_.operand[Bias::index].data)[c]);
          sums[at] = sums[at] + x;
          sums[at + 2] = sums[at + 2] + x;
        }
      }
    }
  }
  // A box: 16 rows of this group of 32 threads, 128 bytes of columns, rounded, staged and written.
  template <class C, int box>
  TK_FN void finish_(Sums& sums, Place<ClusterTile, int> tile, Place<Corner, int> row, Place<Corner, int> col,
                     Counter rows, Counter warps) const {
    constexpr Kind K = kind_at(P.kinds, C::index);
    constexpr int kFirst = box * S.out_cols / 2, kEnd = kFirst + S.out_cols / 2;  // sums
    const Counter lane = lane_index();
    const Shared<u32, OutWord> staged = shared<u32, OutWord>(staging_byte(P)) + box_begin(warps, Counter(box), P.boxes);
    // The copy engine would write over the next group's rows.
    const bool boxed = P.boxed && (!kRows || part_corner(row, rows) + 16 <= rows_end_(tile));
    if constexpr (P.boxed) {
      if (lane == 0 && boxed) stored_boxes_read<P.boxes - 1>();
      if (lane == 0 && !boxed) stored_boxes_read<0>();
    }
    warp_barrier();
    if constexpr (K == Kind::f32) {
      TK_UNROLL
      for (Counter i = kFirst; i < kEnd; i += 2)
        *cast<Words<2>>(
            staged + out_word(Counter(sum_row(lane, i)), Counter(col_in_box(Counter(sum_col(lane, i)), S.out_cols)))) =
            Words<2>{{narrow<K>(sums[i]), narrow<K>(sums[i + 1])}};
    } else {
      TK_UNROLL
      for (Counter i = kFirst; i < kEnd; i += 8) {  // 16 columns
        const float v[8] = {sums[i],     sums[i + 1], sums[i + 2], sums[i + 3],
                            sums[i + 4], sums[i + 5], sums[i + 6], sums[i + 7]};
        const Packed<K, 8> p = pack<K, 8>(v);
        store_matrices(staged + matrix_word(lane, i), p.word[0], p.word[1], p.word[2], p.word[3]);
      }
    }
    const Place<Corner, int> left = box_corner(col, Counter(box), S.out_cols);
    if (boxed) {
      boxes_fence();
      warp_barrier();
      if (lane == 0)
        store_box(mapped_.map[kOutMap], left, part_corner(row, rows), kSummed ? group_(tile) : Counter(0),
                  staged + out_word(Counter(0), Counter(0)));
    } else if constexpr (!P.boxed || kRows) {
      const Counter group = group_(tile);
      const i64 end = rows_end_(tile);
      warp_barrier();
      const Shared<Raw<K>, OutElement> outputs = shared<Raw<K>, OutElement>(staged_elements_byte(P)) +
                                                 element_box_begin(warps, Counter(box), P.boxes, P.result);
      constexpr int kAtOnce = 4, kTurns = S.out_cols / 32;  // rows, whose loads do not wait for each other's stores
      TK_ROLLED
      for (Counter r = 0; r < 16; r += kAtOnce) {
        Raw<K> v[kAtOnce][kTurns];
        TK_UNROLL
        for (Counter e = 0; e < kAtOnce; ++e) {
          TK_UNROLL
          for (Counter turn = 0; turn < kTurns; ++turn)
            v[e][turn] = outputs[out_element(Counter(counted_on(r, e)), Counter(lane_in_turn(turn, lane)), P.result)];
        }
        TK_UNROLL
        for (Counter e = 0; e < kAtOnce; ++e) {
          const Place<Row, i64> to = product_row(row, rows, Counter(counted_on(r, e)));
          const Global<Raw<K>, Column> line = elements<K>(arguments_.operand[C::index], out_row_(group, to));
          TK_UNROLL
          for (Counter turn = 0; turn < kTurns; ++turn) {
            const Place<Column, i64> at = product_col(left, Counter(lane_in_turn(turn, lane)));
            if (to < end && at < arguments_.extent[1]) line[at] = v[e][turn];
          }
        }
      }
    }
    if constexpr (box + 1 < P.cols / S.out_cols) finish_<C, box + 1>(sums, tile, row, col, rows, warps);
  }

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  TK_FN void product(C, A, B, Start = {}, Bias = {}, How = {}) const {
    multiply_all_<C, A, B, Start, Bias>();
  }
  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  TK_FN void grouped_product(C, A, B, Offsets, Start = {}, How = {}) const {
    static_assert(Offsets::index == P.offsets && FactorOf<A>::transposed == kSummed);
    multiply_all_<C, A, B, Start, Nothing>();
  }

  template <class C, class A, class B, class Start, class Bias> TK_FN void multiply_all_() const {
    // Memory runs along the lines of a factor, or along the contracted index; integers have been turned so.
    constexpr bool kLeftAlong = !kIntegers && FactorOf<A>::transposed,
                   kRightAlong = !kIntegers && !FactorOf<B>::transposed;
    const Counter group = group_index();
    if (thread_index() == 0) {
      check_ring(shared<u16, RingHalf>(ring_byte()) + slot_half(Counter(0), S.slot_bytes, 0, Counter(0)));
      for (Counter slot = 0; slot < P.slots; ++slot) {
        gate_open(Ring::full(slot), 1);
        gate_open(Ring::free(slot), S.releases);
      }
      if constexpr (clears(P)) gate_open(Ring::full(Counter(2 * P.slots)), 8);
      gates_opened();
      map_ahead(mapped_.map[kLeftMap]);
      map_ahead(mapped_.map[kRightMap]);
    }
    if constexpr (kCluster > 1)
      cluster_barrier();
    else
      barrier();
    await_earlier();
    if (P.grouped != Grouped::no && refused(arguments_)) {
      // Nothing is written.
    } else if (group < 4) {
      registers_down<kLoaderRegisters>();
      if (thread_index() == 0) load_<kLeftAlong, kRightAlong>();
      warp_barrier();
    } else {
      registers_up<kMultiplierRegisters>();
      const Counter rows = group_rows(group);
      Turn turn;
      u32 cleared = 0;
      for_tiles_([&](Place<ClusterTile, int> tile) {
        Sums sums;
        const auto begin = [&](Sums& to) { begin_<Start>(to, tile, rows); };
        if constexpr (kIntegers)
          ProductIntegers<P>::add(sums, turn, blocks_(tile), rows, begin);
        else
          chain_<kind_at(P.kinds, FactorOf<A>::index), optional_<Start>() == Kind::f32, kLeftAlong, kRightAlong>(
              sums, turn, cleared, inner_(tile), rows, begin);
        settled(sums);
        const Counter again = group_index();
        const Place<Corner, int> row = row_(tile), col = col_(tile);
        add_bias_<Bias>(sums, col);
        finish_<C, 0>(sums, tile, row, col, group_rows(again), again);
      });
      if (P.boxed && Ring::own_lane() == 0) stored_boxes_written();
    }
    if constexpr (kCluster > 1) cluster_barrier();  // no block leaves while another may arrive at its gates
  }
};

template <class D, ProductPlan P> TK_FN void product_kernel(const MappedArguments& arguments) {
  const ProductMachine<D, P> m(arguments);
  D::tile(m);
}

}  // namespace tokitai::device

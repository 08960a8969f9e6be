// Matrix products on Hopper's tensor cores, in the arithmetics hopper and block15. The blocks stay and take tiles in
// turn. In each, one thread has the copy engine fill a ring of slots with 128 bytes of the contracted index of both
// factors; two groups of 128 threads multiply what is there and free the slots again.
#pragma once
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

  const MappedArguments& mapped_;
  const Arguments& arguments_;
  TK_FN explicit ProductMachine(const MappedArguments& a) : mapped_(a), arguments_(a.arguments) {}

  TK_FN int rows_() const { return asked_anew(static_cast<int>(arguments_.extent[0])); }
  TK_FN int cols_() const { return asked_anew(static_cast<int>(arguments_.extent[1])); }
  TK_FN int cluster_rows_() const { return pieces_of(rows_(), kTileRows * P.cluster_rows); }
  TK_FN int cluster_cols_() const { return pieces_of(cols_(), P.cols * P.cluster_cols); }
  // Of the contracted index, what a slot holds at a time.
  TK_FN int blocks_() const { return pieces_of(static_cast<int>(arguments_.extent[2]), S.deep); }

  static TK_FN Counter below_() {
    return rank_below(kCluster > 1 ? cluster_rank() : Place<Rank, int>(0), P.cluster_rows);
  }
  static TK_FN Counter beside_() {
    return rank_beside(kCluster > 1 ? cluster_rank() : Place<Rank, int>(0), P.cluster_rows);
  }
  // The corner of a tile of this block. (Where it is asked for again, it was not kept in registers meanwhile.)
  TK_FN Place<Corner, int> row_(Place<ClusterTile, int> tile) const {
    return tile_corner(walked_row(tile, cluster_rows_(), cluster_cols_(), P.band), below_(), P.cluster_rows, kTileRows);
  }
  TK_FN Place<Corner, int> col_(Place<ClusterTile, int> tile) const {
    return tile_corner(walked_col(tile, cluster_rows_(), cluster_cols_(), P.band), beside_(), P.cluster_cols, P.cols);
  }
  template <class F> TK_FN void for_tiles_(F f) const {
    for (Place<ClusterTile, int> tile = first_cluster(block_index(), kCluster);
         tile < cluster_rows_() * cluster_cols_(); tile += clusters_of(grid_size(), kCluster))
      f(tile);
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
      const Place<Corner, int> row = row_(tile), col = col_(tile);
      const int blocks = blocks_();
      for (Counter block = 0; block < blocks; ++block) {
        const Place<Corner, int> inner = slot_corner(block, S.deep);
        for (Counter plane = 0; plane < S.planes; ++plane) {
          const Gate full = Ring::full(turn.slot);
          gate_await(Ring::free(turn.slot), turn.phase ^ 1);
          gate_expect(full, S.slot_bytes + (plane == 0 ? S.scale_bytes : 0));
          load_factor_<left_along, kTileRows, P.cluster_cols>(mapped_.map[kLeftMap], turn.slot, 0, row, beside, inner,
                                                              plane, full);
          load_factor_<right_along, P.cols, P.cluster_rows>(mapped_.map[kRightMap], turn.slot, S.left_bytes, col, below,
                                                            inner, plane, full);
          if constexpr (kIntegers)
            if (plane == 0) {
              const Shared<u16, ScaleHalf> scales =
                  shared<u16, ScaleHalf>(scales_byte(P)) + slot_scales(turn.slot, S.scale_bytes);
              load_box(scales + first_scale(0), mapped_.map[kLeftScalesMap], row, scale_corner(block), 0, full);
              load_box(scales + first_scale(kTileRows), mapped_.map[kRightScalesMap], col, scale_corner(block), 0,
                       full);
            }
          turn = turn.next();
        }
      }
    });
  }

  // hopper: one chain of groups of 16; a slot's four products are on their way while the next slot is awaited.
  template <Kind K, bool started, bool left_along, bool right_along, class Begin>
  TK_FN void chain_(Sums& sums, Turn& turn, Counter rows, Begin begin) const {
    const int blocks = blocks_();
    begin(sums);
    Counter before = 0;
    for (int block = 0; block < blocks; ++block) {
      Ring::await(turn);
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

  // --- Outputs. Calls f(i, row, col) for each of a thread's sums, or each pair of neighbours.
  template <class Start>
  TK_FN void begin_(Sums& sums, Place<Corner, int> row, Place<Corner, int> col, Counter rows) const {
    const Counter lane = lane_index();
    TK_UNROLL
    for (Counter i = 0; i < kSums; ++i) {
      sums[i] = 0.0f;
      if constexpr (optional_<Start>() == Kind::f32) {
        const Place<Row, i64> r = product_row(row, rows, Counter(sum_row(lane, i)));
        const Place<Column, i64> c = product_col(col, Counter(sum_col(lane, i)));
        if (r < arguments_.extent[0] && c < arguments_.extent[1])
          sums[i] = widen<Kind::f32>(elements<Kind::f32>(arguments_.operand[Start::index], r)[c]);
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
  TK_FN void finish_(Sums& sums, Place<Corner, int> row, Place<Corner, int> col, Counter rows, Counter group) const {
    constexpr Kind K = kind_at(P.kinds, C::index);
    constexpr int kFirst = box * S.out_cols / 2, kEnd = kFirst + S.out_cols / 2;  // sums
    const Counter lane = lane_index();
    const Shared<u32, OutWord> staged = shared<u32, OutWord>(staging_byte(P)) + box_begin(group, Counter(box), P.boxes);
    if constexpr (P.boxed) {
      if (lane == 0) stored_boxes_read<P.boxes - 1>();
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
    if constexpr (P.boxed) {
      boxes_fence();
      warp_barrier();
      if (lane == 0)
        store_box(mapped_.map[kOutMap], left, part_corner(row, rows), staged + out_word(Counter(0), Counter(0)));
    } else {
      warp_barrier();
      const Shared<Raw<K>, OutElement> outputs = shared<Raw<K>, OutElement>(staged_elements_byte(P)) +
                                                 element_box_begin(group, Counter(box), P.boxes, P.result);
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
          const Global<Raw<K>, Column> line = elements<K>(arguments_.operand[C::index], to);
          TK_UNROLL
          for (Counter turn = 0; turn < kTurns; ++turn) {
            const Place<Column, i64> at = product_col(left, Counter(lane_in_turn(turn, lane)));
            if (to < arguments_.extent[0] && at < arguments_.extent[1]) line[at] = v[e][turn];
          }
        }
      }
    }
    if constexpr (box + 1 < P.cols / S.out_cols) finish_<C, box + 1>(sums, row, col, rows, group);
  }

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  TK_FN void product(C, A, B, Start = {}, Bias = {}, How = {}) const {
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
      gates_opened();
      map_ahead(mapped_.map[kLeftMap]);
      map_ahead(mapped_.map[kRightMap]);
    }
    if constexpr (kCluster > 1)
      cluster_barrier();
    else
      barrier();
    await_earlier();
    if (group < 4) {
      registers_down<kLoaderRegisters>();
      if (thread_index() == 0) load_<kLeftAlong, kRightAlong>();
      warp_barrier();
    } else {
      registers_up<kMultiplierRegisters>();
      const Counter rows = group_rows(group);
      Turn turn;
      for_tiles_([&](Place<ClusterTile, int> tile) {
        Sums sums;
        const auto begin = [&](Sums& to) { begin_<Start>(to, row_(tile), col_(tile), rows); };
        if constexpr (kIntegers)
          ProductIntegers<P>::add(sums, turn, blocks_(), rows, begin);
        else
          chain_<kind_at(P.kinds, FactorOf<A>::index), optional_<Start>() == Kind::f32, kLeftAlong, kRightAlong>(
              sums, turn, rows, begin);
        settled(sums);
        const Counter again = group_index();
        const Place<Corner, int> row = row_(tile), col = col_(tile);
        add_bias_<Bias>(sums, col);
        finish_<C, 0>(sums, row, col, group_rows(again), again);
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

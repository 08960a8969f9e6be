// The rows of the segment pattern: which are asked for, and how one is read, written and copied.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/place_segment.h"
#include "machines/device/plans.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, SegmentPlan P> struct SegmentRows : D::Names {
  const Arguments& arguments_;
  const i64 queries_, dim_, vocab_;
  static constexpr Kind kIndex = kind_at(P.kinds, P.index);

  TK_FN explicit SegmentRows(const Arguments& a)
      : arguments_(a), queries_(a.extent[0]), dim_(a.extent[1]), vocab_(a.extent[2]) {}

  TK_FN bool padded_(i64 v) const { return P.padding && v == arguments_.option[P.padding_option]; }
  TK_FN i64 index_at_(Place<Row, i64> i) const { return load_integer<kIndex>(arguments_.operand[P.index], i); }
  TK_FN bool valid_(Place<Row, i64> i) const {
    const i64 v = index_at_(i);
    return padded_(v) || (v >= 0 && v < vocab_);
  }
  template <class O> TK_FN constexpr bool flag(O) const { return P.accumulate; }
  // Every index is asked before anything is written; the smallest refused position is kept.
  TK_FN void check_indices_() const {
    for (Place<Row, i64> i = first_item(block_index(), thread_index(), P.threads); i < queries_;
         i += item_step(grid_size(), P.threads))
      if (!valid_(i)) atomic_min(global_one<u64>(arguments_.flag), static_cast<u64>(i));
  }

  // --- Rows by index: a group of 32 threads copies a row, several vectors on their way at once.
  template <class O, class W, class I, class N> TK_FN void gather(O, W, I, N) const {
    constexpr Kind K = kind_at(P.kinds, O::index);
    constexpr int kVectors = 4;
    const Place<Step<Row>, i64> groups = item_step(grid_size(), P.threads / 32);
    const Counter lane = lane_in_group(thread_index());
    Place<Row, i64> i = first_item(block_index(), group_of_thread(thread_index()), P.threads / 32);
    i64 next = i < queries_ ? index_at_(i) : 0;
    for (; i < queries_; i += groups) {
      const i64 v = next;
      if (i + groups < queries_) next = index_at_(row_ahead(i, 1, groups, queries_, queries_));
      const bool hole = padded_(v);
      const Global<const Raw<K>, Column> from =
          elements<K>(arguments_.operand[W::index], given_row(hole ? i64{0} : v, vocab_));
      const Global<Raw<K>, Column> to = elements<K>(arguments_.operand[O::index], i);
      for (CounterOf<i64> c = 0; c < dim_; c += kVectors * 32 * P.wide) {
        Packed<K, P.wide> held[kVectors];
        TK_UNROLL
        for (Counter turn = 0; turn < kVectors; ++turn) {
          const Place<Column, i64> at = copied_column(c, turn, lane, P.wide);
          held[turn] = Packed<K, P.wide>{};
          if (at < dim_ && !hole) held[turn] = load_row_<K>(from, at);
        }
        TK_UNROLL
        for (Counter turn = 0; turn < kVectors; ++turn) {
          const Place<Column, i64> at = copied_column(c, turn, lane, P.wide);
          if (at < dim_) store_row_<K>(to, at, held[turn]);
        }
      }
    }
  }
  TK_FN Place<Existing, int> left_(Place<Column, i64> at) const { return at_most(left_of(dim_, at), P.wide); }
  template <Kind K> TK_FN Packed<K, P.wide> load_row_(Global<const Raw<K>, Column> from, Place<Column, i64> at) const {
    if constexpr (P.whole)
      return load_packed<K, P.wide, P.access>(from + at);
    else
      return load_some<K, P.wide>(from + at, left_(at));
  }
  template <Kind K>
  TK_FN void store_row_(Global<Raw<K>, Column> to, Place<Column, i64> at, const Packed<K, P.wide>& v) const {
    if constexpr (P.whole)
      store_packed<K, P.wide,
                   (P.access < P.wide * bytes_of(K) ? P.access
                                                    : (P.wide * bytes_of(K) < 16 ? P.wide * bytes_of(K) : 16))>(to + at,
                                                                                                                v);
    else
      store_some<K, P.wide>(to + at, v, left_(at));
  }
};

}  // namespace tokitai::device

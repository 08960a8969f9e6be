// The each pattern on a GPU over a single tensor: every thread works on a few vectors of neighbouring elements at once,
// all of them read before any is written, so that several reads are on their way. Where rows lie apart some threads
// share a row; else all elements are one.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/pack.h"
#include "machines/device/place_each.h"
#include "machines/device/place_row.h"
#include "machines/device/plans.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::device {

// A check's flag where a row was refused; without it the step is called off.
inline constexpr u64 kRowRefused = u64{1} << 63;

template <class Values> struct Pair {
  Values first, second;
};

// What a row is asked for: its number, its integers, options.
template <class D, EachPlan P> struct EachRowMachine : D::Names {
  template <class O> static constexpr Kind kind = kind_at(P.kinds, O::index);
  const Arguments& arguments_;
  Place<Row, i64> row_{};

  TK_FN explicit EachRowMachine(const Arguments& a) : arguments_(a) {}
  template <int I> TK_FN float value(Scalar<I>) const {
    if constexpr ((P.zeros >> I) & 1u)
      return 0.0f;
    else
      return arguments_.scalar[I];
  }
  template <int I> TK_FN i64 value(IntegerOption<I>) const {
    if constexpr (constexpr i64 known = P.choices >> (4 * I) & 15u; known != 0)
      return known - 1;
    else
      return arguments_.option[I];
  }
  template <class O> TK_FN constexpr bool has(O) const { return kind<O> != Kind::absent; }
  TK_FN i64 row() const { return row_; }
  TK_FN i64 table_rows() const { return arguments_.extent[2]; }
  template <class O> TK_FN i64 integer(O) const {
    if constexpr (kind<O> != Kind::absent)
      return load_integer<kind<O>>(arguments_.operand[O::index], row_);
    else
      return 0;
  }
};

template <class D, EachPlan P> struct EachTensorMachine : EachRowMachine<D, P> {
  using Base = EachRowMachine<D, P>;
  using Base::arguments_;
  using Base::row_;
  template <class O> static constexpr Kind kind = Base::template kind<O>;
  using Values = Pack<P.wide * P.turns>;
  // Of a thread's vectors the first elements, in their row or in the tensor, and how many of them exist.
  template <class Space> using Firsts = Place<Space, i64>[P.turns];
  Firsts<Element> element_{};
  Firsts<Column> column_{};
  Place<Existing, int> count_[P.turns]{};

  TK_FN explicit EachTensorMachine(const Arguments& a) : Base(a) {}

  template <Kind K> static constexpr int kAccess = P.wide * bytes_of(K) < P.access ? P.wide * bytes_of(K) : P.access;

  template <class T, Kind K> TK_FN GlobalSpot<T> spot_(int operand, Counter turn) const {
    if constexpr (P.lanes == 0)
      return global<T, Element>(arguments_.operand[operand].data) + element_[turn];
    else
      return elements<K>(arguments_.operand[operand], row_) + column_[turn];
  }
  template <Kind K, int wide = P.wide> TK_FN Packed<K, wide> read_(GlobalSpot<const Raw<K>> from, Counter turn) const {
    if (count_[turn] >= P.wide) return load_packed<K, wide, kAccess<K>>(from);
    if constexpr (P.period == 0)
      return load_some<K, wide>(from, count_[turn]);
    else
      return {};  // a period holds whole vectors
  }
  template <Kind K, int wide = P.wide>
  TK_FN void write_(GlobalSpot<Raw<K>> to, const Packed<K, wide>& p, Counter turn) const {
    if (count_[turn] >= P.wide)
      store_packed<K, wide, kAccess<K>>(to, p);
    else if constexpr (P.period == 0)
      store_some<K, wide>(to, p, count_[turn]);
  }
  template <Kind K> static TK_FN void put_(Values& to, int turn, const Packed<K, P.wide>& p) {
    TK_UNROLL
    for (int e = 0; e < P.wide; ++e) to.v[turn * P.wide + e] = p[e];
  }
  template <Kind K> static TK_FN Packed<K, P.wide> packed_(const Values& from, int turn) {
    float v[P.wide];
    TK_UNROLL
    for (int e = 0; e < P.wide; ++e) v[e] = from.v[turn * P.wide + e];
    return pack<K, P.wide>(v);
  }

  template <class O> TK_FN Values load(O) const {
    Values r(0.0f);
    if constexpr (kind<O> != Kind::absent) {
      constexpr Kind K = kind<O>;
      TK_UNROLL
      for (Counter turn = 0; turn < P.turns; ++turn)
        put_<K>(r, turn, read_<K>(spot_<const Raw<K>, K>(O::index, turn), turn));
    }
    return r;
  }
  template <class O> TK_FN void store(O, const Values& v) const {
    if constexpr (kind<O> != Kind::absent) {
      constexpr Kind K = kind<O>;
      TK_UNROLL
      for (Counter turn = 0; turn < P.turns; ++turn)
        write_<K>(spot_<Raw<K>, K>(O::index, turn), packed_<K>(v, turn), turn);
    }
  }
  // One type copies bits; else one rounding.
  template <class O, class I> TK_FN void convert(O out, I in) const {
    if constexpr (kind<O> == kind<I>) {
      constexpr Kind K = kind<O>;
      Packed<K, P.wide> held[P.turns];
      TK_UNROLL
      for (Counter turn = 0; turn < P.turns; ++turn)
        held[turn] = read_<K>(spot_<const Raw<K>, K>(I::index, turn), turn);
      TK_UNROLL
      for (Counter turn = 0; turn < P.turns; ++turn) write_<K>(spot_<Raw<K>, K>(O::index, turn), held[turn], turn);
    } else {
      store(out, load(in));
    }
  }

  // --- Pairs of elements, half a period apart or side by side, and a table whose columns repeat along a row.
  template <class O> TK_FN Pair<Values> load_pair(O, bool beside) const {
    constexpr Kind K = kind<O>;
    const Global<const Raw<K>, Column> from = elements<K>(arguments_.operand[O::index], row_);
    Pair<Values> r{0.0f, 0.0f};
    TK_UNROLL
    for (Counter turn = 0; turn < P.turns; ++turn)
      if (beside) {
        const Packed<K, 2 * P.wide> p = read_<K, 2 * P.wide>(from + side_by_side(column_[turn]), turn);
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) {
          r.first.v[turn * P.wide + e] = p[2 * e];
          r.second.v[turn * P.wide + e] = p[2 * e + 1];
        }
      } else {
        put_<K>(r.first, turn, read_<K>(from + first_of_pair(column_[turn], P.period), turn));
        put_<K>(r.second, turn, read_<K>(from + second_of_pair(column_[turn], P.period), turn));
      }
    return r;
  }
  template <class O> TK_FN void store_pair(O, const Values& first, const Values& second, bool beside) const {
    constexpr Kind K = kind<O>;
    const Global<Raw<K>, Column> to = elements<K>(arguments_.operand[O::index], row_);
    TK_UNROLL
    for (Counter turn = 0; turn < P.turns; ++turn)
      if (beside) {
        float v[2 * P.wide];
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) {
          v[2 * e] = first.v[turn * P.wide + e];
          v[2 * e + 1] = second.v[turn * P.wide + e];
        }
        write_<K, 2 * P.wide>(to + side_by_side(column_[turn]), pack<K, 2 * P.wide>(v), turn);
      } else {
        write_<K>(to + first_of_pair(column_[turn], P.period), packed_<K>(first, turn), turn);
        write_<K>(to + second_of_pair(column_[turn], P.period), packed_<K>(second, turn), turn);
      }
  }
  template <class O> TK_FN Values load_at(O, i64 table_row) const {
    constexpr Kind K = kind<O>;
    const Global<const Raw<K>, Column> from =
        elements<K>(arguments_.operand[O::index], clamped_row(table_row, i64{arguments_.extent[2]}));
    Values r(0.0f);
    TK_UNROLL
    for (Counter turn = 0; turn < P.turns; ++turn)
      put_<K>(r, turn, read_<K>(from + table_column(column_[turn], P.period), turn));
    return r;
  }

  // Calls f for each set of vectors that this thread works on at once.
  template <class F> TK_FN void for_vectors_(F f) {
    if constexpr (P.lanes == 0) {
      for (Place<Row, i64> piece = worker_of(block_index(), 1); piece < arguments_.extent[1];
           piece += workers_of(grid_size(), 1)) {
        const Place<Begin<Element>, i64> begin = piece_begin(piece, i64{0}, P.turns, P.threads, P.wide);
        TK_UNROLL
        for (Counter turn = 0; turn < P.turns; ++turn) {
          element_[turn] = vector_begin(begin, turn, thread_index(), P.threads, P.wide);
          count_[turn] = at_most(left_of(i64{arguments_.extent[0]}, element_[turn]), P.wide);
        }
        f();
      }
    } else {
      constexpr int kTeams = P.threads / P.lanes;
      const Place<Step<Row>, i64> workers = workers_of(grid_size(), 1);
      for (row_ = first_row_of(worker_of(block_index(), 1), team_of(thread_index(), P.lanes), kTeams);
           row_ < arguments_.extent[0]; row_ += row_step(workers, kTeams))
        for (CounterOf<i64> begin = 0; begin < arguments_.extent[1]; begin += P.turns * P.lanes * P.wide) {
          TK_UNROLL
          for (Counter turn = 0; turn < P.turns; ++turn) {
            column_[turn] = lane_column(begin, turn, thread_in_team(thread_index(), P.lanes), P.lanes, P.wide);
            count_[turn] = at_most(left_of(i64{arguments_.extent[1]}, column_[turn]), P.wide);
          }
          f();
        }
    }
  }
  // Where an element of a thread's vector lies in the tensor.
  TK_FN i64 position_(Counter turn, int e) const {
    if constexpr (P.lanes == 0)
      return element_[turn] + e;
    else
      return row_ * arguments_.extent[1] + column_[turn] + e;
  }
};

template <class D, EachPlan P> TK_FN void each_tensor_kernel(const Arguments& arguments) {
  if constexpr (P.checked) {
    await_earlier();
    if (refused(arguments)) return;
  }
  EachTensorMachine<D, P> m(arguments);
  m.for_vectors_([&] { D::element(m); });
}

// Calls the step off where an element is not valid: the smallest position of one.
template <class D, EachPlan P> TK_FN void each_tensor_check_kernel(const Arguments& arguments) {
  let_next_begin();
  EachTensorMachine<D, P> m(arguments);
  m.for_vectors_([&] {
    const PackMask<P.wide * P.turns> good = D::valid(m);
    TK_UNROLL
    for (Counter turn = P.turns - 1; turn >= 0; --turn) TK_UNROLL
    for (int e = P.wide - 1; e >= 0; --e)
      if (e < m.count_[turn] && !good.v[turn * P.wide + e]) refuse(arguments, static_cast<u64>(m.position_(turn, e)));
  });
}
// Refuses the call where a row is not acceptable: the first of them.
template <class D, EachPlan P> TK_FN void each_rows_check_kernel(const Arguments& arguments) {
  let_next_begin();
  EachRowMachine<D, P> m(arguments);
  for (m.row_ = first_row_of(worker_of(block_index(), 1), thread_index(), P.threads); m.row_ < arguments.extent[0];
       m.row_ += asked_step(grid_size(), P.threads))
    if (!D::accepts(m)) refuse(arguments, kRowRefused | static_cast<u64>(m.row_));
}

}  // namespace tokitai::device

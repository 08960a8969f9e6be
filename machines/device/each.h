// The each pattern on a GPU over a list: every thread works on a few neighbouring elements of one tensor of the list,
// all tensors in one launch.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/pack.h"
#include "machines/device/place_each.h"
#include "machines/device/plans.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::device {

// The tensor that a piece of work belongs to: the last whose pieces begin at or before it.
template <class Tensor> TK_FN Place<InList, int> tensor_of(const Arguments& arguments, i64 piece) {
  const Global<const Tensor, InList> tensors = global<const Tensor, InList>(arguments.tensors);
  Place<InList, int> low = 0, high = last_of_list(static_cast<int>(arguments.extent[0]));
  while (low < high) {
    const Place<InList, int> middle = middle_of(low, high);
    const Tensor at = tensors[middle];
    if (at.first <= piece)
      low = middle;
    else
      high = before_middle(middle);
  }
  return low;
}

template <class D, EachPlan P> struct EachMachine : D::Names {
  template <class O> static constexpr Kind kind = kind_at(P.kinds, O::index);
  template <int I> static constexpr bool has_once = kind_at(P.kinds, I) != Kind::absent;

  using Tensor = device::Tensor<P.operands>;

  const Arguments& arguments_;
  Tensor tensor_;
  Place<Element, i64> first_{};   // of this thread's elements
  Place<Existing, int> count_{};  // of them that exist
  bool aligned_ = true;           // every access may be 16 bytes wide
  bool was_skipped_ = false;

  TK_FN explicit EachMachine(const Arguments& a) : arguments_(a) {}
  template <int I> TK_FN float value(Scalar<I>) const {
    if constexpr ((P.zeros >> I) & 1u)
      return 0.0f;
    else
      return arguments_.scalar[I];
  }
  template <int I> TK_FN i64 value(IntegerOption<I>) const { return arguments_.option[I]; }
  template <class O> TK_FN constexpr bool has(O) const {
    if constexpr ((P.mixed >> O::index) & 1u)
      return is_there(tensor_.data[O::index]);
    else
      return kind<O> != Kind::absent;
  }

  template <int I> TK_FN constexpr bool has(Once<I>) const { return has_once<I>; }
  // What the call has once lies in memory that only launches before this one wrote.
  template <int I> TK_FN float once(Once<I> operand) const {
    if constexpr (has_once<I>) return from_bits(u32(global<const u32, Counted>(arguments_.operand[I].data)[0]));
    return static_cast<void>(operand), 0.0f;
  }
  template <int I> TK_FN void put_once(Once<I>, i64 v) const {
    if constexpr (has_once<I>)
      if (block_index() == 0 && thread_index() == 0)
        global<u64, Counted>(arguments_.operand[I].data)[0] = static_cast<u64>(v);
  }
  TK_FN i64 skipped() const { return was_skipped_ ? 1 : 0; }

  template <class O> TK_FN Pack<P.wide> load(O) const {
    Pack<P.wide> r;
    if constexpr (kind<O> != Kind::absent) {
      constexpr Kind K = kind<O>;
      const GlobalSpot<const Raw<K>> from = global<const Raw<K>, Element>(tensor_.data[O::index]) + first_;
      constexpr int kAccess = P.wide * bytes_of(K) < 16 ? P.wide * bytes_of(K) : 16;
      const Packed<K, P.wide> p = aligned_ ? load_packed<K, P.wide, kAccess>(from) : load_some<K, P.wide>(from, count_);
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e) r.v[e] = p[e];
    } else {
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e) r.v[e] = 0.0f;
    }
    return r;
  }
  template <class O> TK_FN void store(O, const Pack<P.wide>& v) const {
    if constexpr (kind<O> != Kind::absent) {
      constexpr Kind K = kind<O>;
      const GlobalSpot<Raw<K>> to = global<Raw<K>, Element>(tensor_.data[O::index]) + first_;
      constexpr int kAccess = P.wide * bytes_of(K) < 16 ? P.wide * bytes_of(K) : 16;
      const Packed<K, P.wide> p = pack<K, P.wide>(v.v);
      if (aligned_)
        store_packed<K, P.wide, kAccess>(to, p);
      else
        store_some<K, P.wide>(to, p, count_);
    }
  }

  // Calls f(which) for each of this thread's vectors of a piece, with that tensor's elements in place.
  template <class F> TK_FN void for_piece_(Place<Row, i64> piece, F f) {
    const Place<InList, int> which = tensor_of<Tensor>(arguments_, piece);
    tensor_ = global<const Tensor, InList>(arguments_.tensors)[which];
    Multiples address{};
    TK_UNROLL
    for (int i = 0; i < P.operands; ++i)
      if (kind_at(P.kinds, i) != Kind::absent) address |= multiples_of(tensor_.data[i]);
    const Place<Begin<Element>, i64> begin = piece_begin(piece, i64{tensor_.first}, P.turns, P.threads, P.wide);
    for (Counter turn = 0; turn < P.turns; ++turn) {
      first_ = vector_begin(begin, turn, thread_index(), P.threads, P.wide);
      const Place<Left, i64> left = left_of(i64{tensor_.length}, first_);
      if (left <= 0) break;
      count_ = at_most(left, P.wide);
      aligned_ = address % 16 == 0 && left >= P.wide;
      f(which);
    }
  }
};

template <class D, EachPlan P> TK_FN void each_kernel(const Arguments& arguments) {
  EachMachine<D, P> m(arguments);
  if constexpr (P.checked) {
    await_earlier();
    m.was_skipped_ = refused(arguments);
  }
  if constexpr (P.checked_once) {
    m.was_skipped_ = !D::valid_once(m);
    if (m.was_skipped_ && block_index() == 0 && thread_index() == 0) refuse(arguments, kCalledOff);
  }
  if constexpr (requires { D::finish(m); }) D::finish(m);
  if (m.was_skipped_) return;
  for (Place<Row, i64> piece = worker_of(block_index(), 1); piece < arguments.extent[1];
       piece += workers_of(grid_size(), 1))
    m.for_piece_(piece, [&](int) { D::element(m); });
}

// The smallest refused element: the tensor's place in the list above 40 bits of position.
template <class D, EachPlan P> TK_FN void each_check_kernel(const Arguments& arguments) {
  let_next_begin();
  EachMachine<D, P> m(arguments);
  for (Place<Row, i64> piece = worker_of(block_index(), 1); piece < arguments.extent[1];
       piece += workers_of(grid_size(), 1))
    m.for_piece_(piece, [&](int which) {
      const PackMask<P.wide> good = D::valid(m);
      TK_UNROLL
      for (int e = P.wide - 1; e >= 0; --e)
        if (e < m.count_ && !good.v[e])
          atomic_min(global_one<u64>(arguments.flag), static_cast<u64>(which) << 40 | static_cast<u64>(m.first_ + e));
    });
}

}  // namespace tokitai::device

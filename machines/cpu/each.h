// The each pattern on SIMD lanes and threads, over a list of tensors of separate lengths that is worked on as one.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "contract/kernel_table.h"
#include "machines/cpu/lanes.h"
#include "machines/cpu/plan.h"
#include "machines/cpu/pool.h"
#include "patterns/journal.h"
#include "patterns/names.h"

namespace tokitai::cpu::TK_ISA {

// One register of elements at a time; the last of a tensor may be cut short.
//
// One that keeps copies, wherever it stores, the elements a piece further on to the journal. Between the arithmetic the
// copy is free: before the piece's turn, all at once, it took 20 % of a step. It fills the queue of stores, which then
// holds fewer elements to be read ahead, so the reading ahead is asked for: 5 % of a step of 67M elements.
template <class D, Type S, bool kKeeps = false> struct EachMachine : D::Names {
  static constexpr std::int64_t kReadAhead = 256;

  const Call& call;
  // Copies, which no store to a tensor can change: so they stay in registers.
  const std::array<float, kMaxScalars> scalars;
  const std::array<void*, kMaxOperands> data;
  const std::array<void*, kMaxOperands> first;  // the list's first set, which holds what the call has once
  const Journal::Kept kept;
  const std::int64_t kept_begin;  // the element whose place is the first in `kept`
  std::int64_t i = 0;
  std::int64_t count = kWidth;
  bool was_skipped = false;

  TK_FN EachMachine(const Call& c, const Operands& tensor, const Journal::Kept& k = {}, std::int64_t begin = 0)
      : call(c),
        scalars(c.scalars),
        data(pointers(tensor, std::make_index_sequence<kMaxOperands>())),
        first(pointers(c.list.front(), std::make_index_sequence<kMaxOperands>())),
        kept(k),
        kept_begin(begin) {}
  template <int I> TK_FN float value(Scalar<I>) const { return scalars[I]; }
  template <int I> TK_FN std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <class O> TK_FN bool has(O) const { return data[O::index] != nullptr; }
  template <int I> TK_FN bool has(Once<I>) const { return first[I] != nullptr; }
  template <int I> TK_FN float once(Once<I>) const { return *static_cast<const float*>(first[I]); }
  template <int I> TK_FN void put_once(Once<I> out, std::int64_t v) const {
    if (has(out)) *static_cast<std::int64_t*>(first[I]) = v;
  }
  TK_FN std::int64_t skipped() const { return was_skipped ? 1 : 0; }
  template <int I> TK_FN Lanes load(Storage<I>) const { return read<S>(I); }
  template <int I> TK_FN Lanes load(Single<I>) const { return read<Type::f32>(I); }
  template <int I> TK_FN void store(Storage<I>, Lanes v) const { write<S>(I, v); }
  template <int I> TK_FN void store(Single<I>, Lanes v) const { write<Type::f32>(I, v); }

  template <Type T> TK_FN Lanes read(std::size_t operand) const {
    const auto* p = static_cast<const typename Memory<T>::Element*>(data[operand]) + i;
    return count == kWidth ? Memory<T>::widen(p) : widen_first<T>(p, count);
  }
  template <Type T> TK_FN void write(std::size_t operand, Lanes v) const {
    auto* p = static_cast<typename Memory<T>::Element*>(data[operand]) + i;
    if constexpr (kKeeps) {
      __builtin_prefetch(p + Journal::kPiece + kReadAhead);
      Memory<T>::copy(reinterpret_cast<typename Memory<T>::Element*>(kept[operand]) + (i - kept_begin),
                      p + Journal::kPiece);
    }
    if (count == kWidth)
      Memory<T>::write(p, Memory<T>::narrow(v));
    else
      write_first<T>(p, Memory<T>::narrow(v), count);
  }

 private:
  template <std::size_t... K>
  static TK_FN std::array<void*, kMaxOperands> pointers(const Operands& tensor, std::index_sequence<K...>) {
    return {(tensor[K].present() ? tensor[K].data : nullptr)...};
  }
};

template <class D, class M> TK_FN void update_with(M& m, std::int64_t begin, std::int64_t end) {
  m.count = kWidth;
  for (m.i = begin; m.i + kWidth <= end; m.i += kWidth) D::element(m);
  m.count = end - m.i;
  if (m.count > 0) D::element(m);
}

template <class D, Type S>
__attribute__((flatten)) void update(const Call& call, const Operands& tensor, std::int64_t begin, std::int64_t end) {
  EachMachine<D, S> m(call, tensor);
  update_with<D>(m, begin, end);
}

// A unit behind a journal.
template <class D, Type S>
__attribute__((flatten)) void update_kept(const Call& call, const Journal& journal, std::int64_t unit) {
  static_assert(Journal::kPiece % kWidth == 0);
  journal.work(
      call, unit,
      [&](const Operands& tensor, std::int64_t begin, std::int64_t end) { update<D, S>(call, tensor, begin, end); },
      [&](const Operands& tensor, std::int64_t begin, const Journal::Kept& kept) {
        EachMachine<D, S, true> m(call, tensor, kept, begin);
        for (m.i = begin; m.i < begin + Journal::kPiece; m.i += kWidth) D::element(m);
      });
}

// The first element in [begin, end) that the definition's check refuses, or -1.
template <class D, Type S>
__attribute__((flatten)) std::int64_t first_invalid(const Call& call, const Operands& tensor, std::int64_t begin,
                                                    std::int64_t end) {
  EachMachine<D, S> m(call, tensor);
  for (m.i = begin; m.i < end; m.i += kWidth) {
    m.count = std::min<std::int64_t>(kWidth, end - m.i);
    const Mask valid = D::valid(m);
    const Mask invalid{hn::AndNot(valid.m, first_lanes(m.count).m)};
    if (const std::intptr_t lane = hn::FindFirstTrue(FloatTag(), invalid.m); lane >= 0) return m.i + lane;
  }
  return -1;
}

// Whether the step is called off, by what the call has once or by its first element that is not valid.
template <class D, Type S> Answer check_each(const Call& call, Pool& pool, std::int64_t units) {
  const EachMachine<D, S> whole(call, Operands{});  // no tensor is asked
  if constexpr (requires { D::valid_once(whole); })
    if (D::checked_once(whole) && !D::valid_once(whole)) return {Answer::skipped, kByTheCall, kByTheCall};
  if constexpr (requires(EachMachine<D, S>& m) { D::valid(m); }) {
    if (D::checked(whole)) {
      constexpr std::int64_t kNone = INT64_MAX;
      std::atomic<std::int64_t> first_unit{kNone};
      const auto scan = [&](std::int64_t unit) {
        Answer found;
        for_each_run(call, unit, [&](std::int64_t t, const Operands& tensor, std::int64_t begin, std::int64_t end) {
          if (found.kind != Answer::good) return;
          if (const std::int64_t bad = first_invalid<D, S>(call, tensor, begin, end); bad >= 0)
            found = {Answer::skipped, bad, t};
        });
        return found;
      };
      pool.run(units, [&](std::int64_t unit, int) {
        if (first_unit.load(std::memory_order_relaxed) < unit) return;
        if (scan(unit).kind != Answer::good) offer_smallest(first_unit, unit);
      });
      if (first_unit != kNone) return scan(first_unit);
    }
  }
  return {};
}

// What the call has once is written last: a call that was ended before may still be called off.
template <class D, Type S> Answer finished(const Call& call, const Answer& answer) {
  if constexpr (requires(EachMachine<D, S>& m) { D::finish(m); }) {
    EachMachine<D, S> m(call, Operands{});
    m.was_skipped = answer.kind == Answer::skipped;
    D::finish(m);
  }
  return answer;
}

template <class D, Type S> Answer run_each(const Call& call, Pool& pool, std::byte* kept) {
  const std::int64_t units = list_units(list_elements(call));
  const Journal journal(kept);
  const bool resumed = kept != nullptr && journal.begun();
  const Answer answer = resumed ? Answer{} : check_each<D, S>(call, pool, units);
  if (answer.kind != Answer::good) return finished<D, S>(call, answer);
  if (kept == nullptr) {
    pool.run(units, [&](std::int64_t unit, int) {
      for_each_run(call, unit, [&](std::int64_t, const Operands& tensor, std::int64_t begin, std::int64_t end) {
        update<D, S>(call, tensor, begin, end);
      });
    });
    return finished<D, S>(call, answer);
  }
  if (resumed) journal.put_back(call);
  journal.begin();
  pool.run(units, [&](std::int64_t unit, int) { update_kept<D, S>(call, journal, unit); });
  return finished<D, S>(call, answer);
}

}  // namespace tokitai::cpu::TK_ISA

// The each pattern on SIMD lanes and threads: a list of tensors of separate lengths is cut into units that may
// span none, one or a part of a tensor, and worked on as one.
#pragma once
#include <algorithm>
#include <atomic>

#include "machines/cpu/lanes.h"
#include "machines/cpu/plan.h"
#include "machines/cpu/pool.h"
#include "patterns/names.h"
#include "runtime/kernel_table.h"

namespace tokitai::cpu::TK_ISA {

// One register of elements at a time; the last of a tensor may be cut short.
template <class D, Type S> struct EachMachine : D::Names {
  const Call& call;
  const Operands& tensor;
  const Operands& into;
  std::int64_t i = 0;
  std::int64_t count = kWidth;

  EachMachine(const Call& c, const Operands& t, const Operands& w) : call(c), tensor(t), into(w) {}
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <class O> bool has(O) const { return tensor[O::index].present(); }
  template <int I> TK_FN Lanes load(Storage<I>) const { return read<S>(I); }
  template <int I> TK_FN Lanes load(Single<I>) const { return read<Type::f32>(I); }
  template <int I> TK_FN void store(Storage<I>, Lanes v) const { write<S>(I, v); }
  template <int I> TK_FN void store(Single<I>, Lanes v) const { write<Type::f32>(I, v); }

  template <Type T> TK_FN Lanes read(std::size_t operand) const {
    const auto* p = static_cast<const typename Memory<T>::Element*>(tensor[operand].data) + i;
    return count == kWidth ? Memory<T>::widen(p) : widen_first<T>(p, count);
  }
  template <Type T> TK_FN void write(std::size_t operand, Lanes v) const {
    auto* p = static_cast<typename Memory<T>::Element*>(into[operand].data) + i;
    if (count == kWidth)
      Memory<T>::write(p, Memory<T>::narrow(v));
    else
      write_first<T>(p, Memory<T>::narrow(v), count);
  }
};

// Calls visit(tensor index, begin, end) for the pieces of one unit of the list's elements in a row.
template <class F> TK_FN void for_each_piece(const Call& call, std::int64_t begin, std::int64_t end, F visit) {
  std::int64_t before = 0;
  std::int64_t t = 0;
  for (const Operands& tensor : call.list) {
    const std::int64_t n = tensor[0].elements();
    if (before >= end) return;
    if (before + n > begin) visit(t, tensor, std::max<std::int64_t>(0, begin - before), std::min(n, end - before));
    before += n;
    ++t;
  }
}

template <class D, Type S>
__attribute__((flatten)) void update(const Call& call, std::int64_t t, std::int64_t begin, std::int64_t end) {
  const auto place = static_cast<std::size_t>(t);
  EachMachine<D, S> m(call, call.list[place], call.into.empty() ? call.list[place] : call.into[place]);
  for (m.i = begin; m.i + kWidth <= end; m.i += kWidth) D::element(m);
  m.count = end - m.i;
  if (m.count > 0) D::element(m);
}

// The first element in [begin, end) that the definition's check refuses, or -1.
template <class D, Type S>
__attribute__((flatten)) std::int64_t first_invalid(const Call& call, const Operands& tensor, std::int64_t begin,
                                                    std::int64_t end) {
  EachMachine<D, S> m(call, tensor, tensor);
  for (m.i = begin; m.i < end; m.i += kWidth) {
    m.count = std::min<std::int64_t>(kWidth, end - m.i);
    const Mask valid = D::valid(m);
    const Mask invalid{hn::AndNot(valid.m, first_lanes(m.count).m)};
    if (const std::intptr_t lane = hn::FindFirstTrue(FloatTag(), invalid.m); lane >= 0) return m.i + lane;
  }
  return -1;
}

template <class D, Type S> Answer run_each(const Call& call, Pool& pool) {
  std::int64_t total = 0;
  for (const Operands& tensor : call.list) total += tensor[0].elements();
  constexpr std::int64_t kUnit = 4 * kUnitElements;  // boundaries are whole registers of a single tensor
  const std::int64_t units = (total + kUnit - 1) / kUnit;

  if constexpr (requires(EachMachine<D, S>& m) { D::valid(m); }) {
    if (D::checked(EachMachine<D, S>(call, call.list[0], call.list[0]))) {
      constexpr std::int64_t kNone = INT64_MAX;
      std::atomic<std::int64_t> first_unit{kNone};
      const auto scan = [&](std::int64_t unit) {
        Answer found;
        for_each_piece(call, unit * kUnit, std::min(total, (unit + 1) * kUnit),
                       [&](std::int64_t t, const Operands& tensor, std::int64_t begin, std::int64_t end) {
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
  pool.run(units, [&](std::int64_t unit, int) {
    for_each_piece(call, unit * kUnit, std::min(total, (unit + 1) * kUnit),
                   [&](std::int64_t t, const Operands&, std::int64_t begin, std::int64_t end) {
                     update<D, S>(call, t, begin, end);
                   });
  });
  return {};
}

}  // namespace tokitai::cpu::TK_ISA

// The each pattern on SIMD lanes and threads: a list of tensors of separate lengths is cut into units that may
// span none, one or a part of a tensor, and worked on as one.
#pragma once
#include <algorithm>
#include <atomic>

#include "machines/cpu/copy.h"
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
  std::int64_t into_begin = 0;  // the element that `into` begins with

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
    auto* p = static_cast<typename Memory<T>::Element*>(into[operand].data) + (i - into_begin);
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

template <class D, Type S> TK_FN void update_with(EachMachine<D, S>& m, std::int64_t begin, std::int64_t end) {
  m.count = kWidth;
  for (m.i = begin; m.i + kWidth <= end; m.i += kWidth) D::element(m);
  m.count = end - m.i;
  if (m.count > 0) D::element(m);
}

template <class D, Type S>
__attribute__((flatten)) void update(const Call& call, std::int64_t t, std::int64_t begin, std::int64_t end) {
  const auto place = static_cast<std::size_t>(t);
  EachMachine<D, S> m(call, call.list[place], call.written(place));
  update_with(m, begin, end);
}

// Written apart, large tensors: a piece is made in the first cache, and from there streamed to where it belongs. That
// spares reading what is overwritten, 10 of 32 bytes an element for AdamW in f16; streaming register by register, three
// tensors at a time, was slower than not streaming at all. Lines of memory must be written as a whole: from 16 bytes
// behind a line's begin it took 3 times as long.
inline constexpr std::int64_t kLine = 64;
inline constexpr std::int64_t kLineElements = kLine / 2;  // a multiple of it lies at a line's begin, in any type
TK_FN bool begins_lines(const Operands& from, const Operands& to) {
  for (std::size_t k = 0; k < kMaxOperands; ++k)
    if (to[k].present() && to[k].data != from[k].data && reinterpret_cast<std::uintptr_t>(to[k].data) % kLine != 0)
      return false;
  return true;
}

template <class D, Type S>
__attribute__((flatten)) void update_apart(const Call& call, std::int64_t t, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kPiece = 256;
  alignas(64) std::byte piece[kMaxOperands][kPiece * sizeof(float)];
  const auto place = static_cast<std::size_t>(t);
  const Operands &from = call.list[place], &to = call.into[place];
  if (!begins_lines(from, to)) return update<D, S>(call, t, begin, end);
  if (const std::int64_t over = begin % kLineElements; over != 0) {
    const std::int64_t line = std::min(end, begin + kLineElements - over);
    update<D, S>(call, t, begin, line);
    begin = line;
  }
  Operands staged = to;
  EachMachine<D, S> m(call, from, staged);
  const auto apart = [&](std::size_t k) { return to[k].present() && to[k].data != from[k].data; };
  const auto place_of = [&](std::size_t k) {
    return static_cast<std::byte*>(to[k].data) + begin * static_cast<std::int64_t>(size_of(to[k].type));
  };
  for (; begin < end; begin += kPiece) {
    const std::int64_t piece_end = std::min(end, begin + kPiece);
    m.into_begin = begin;
    for (std::size_t k = 0; k < kMaxOperands; ++k)
      if (to[k].present()) staged[k].data = apart(k) ? piece[k] : place_of(k);
    update_with(m, begin, piece_end);
    for (std::size_t k = 0; k < kMaxOperands; ++k)
      if (apart(k))
        copy_row(place_of(k), piece[k], (piece_end - begin) * static_cast<std::int64_t>(size_of(to[k].type)), true);
  }
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
  const bool apart = !call.into.empty() && total * static_cast<std::int64_t>(sizeof(float)) >= kStreamFromBytes;
  pool.run(units, [&](std::int64_t unit, int) {
    for_each_piece(call, unit * kUnit, std::min(total, (unit + 1) * kUnit),
                   [&](std::int64_t t, const Operands&, std::int64_t begin, std::int64_t end) {
                     if (apart)
                       update_apart<D, S>(call, t, begin, end);
                     else
                       update<D, S>(call, t, begin, end);
                   });
  });
  return {};
}

}  // namespace tokitai::cpu::TK_ISA

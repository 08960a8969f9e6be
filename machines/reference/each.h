// The each pattern as a plain loop over a tensor or a list of them, one element at a time; or one pair of elements,
// where a definition names a table whose columns repeat along a row.
#pragma once
#include <cstring>

#include "contract/kernel_table.h"
#include "contract/roles.h"
#include "machines/reference/memory.h"
#include "patterns/journal.h"
#include "patterns/names.h"

namespace tokitai::reference {

struct Pair {
  float first, second;
};

template <class D> struct EachMachine : D::Names {
  const Call& call_;
  const Operands& tensor_;
  std::int64_t i_ = 0;
  bool skipped_ = false;

  EachMachine(const Call& c, const Operands& t) : call_(c), tensor_(t) {}
  template <int I> float value(Scalar<I>) const { return call_.scalars[I]; }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call_.option(I).i; }
  template <class O> bool has(O) const { return tensor_[O::index].present(); }
  template <int I> bool has(Once<I>) const { return call_.list.front()[I].present(); }
  template <int I> float once(Once<I>) const { return read(call_.list.front()[I], 0); }
  template <int I> void put_once(Once<I> out, std::int64_t v) const {
    if (has(out)) at<std::int64_t>(call_.list.front()[I], 0, 0) = v;
  }
  std::int64_t skipped() const { return skipped_ ? 1 : 0; }
  template <class O> float load(O) const { return read(tensor_[O::index], row_of(O{}), column_of(O{})); }
  template <class O> void store(O, float v) const { write(tensor_[O::index], row_of(O{}), column_of(O{}), v); }
  // One type copies bits; else one rounding.
  template <class O, class I> void convert(O out, I in) const {
    const View &to = tensor_[O::index], &from = tensor_[I::index];
    if (to.type != from.type)
      store(out, load(in));
    else if (size_of(to.type) == 2)
      at<std::uint16_t>(to, row_of(out), column_of(out)) = at<std::uint16_t>(from, row_of(in), column_of(in));
    else
      at<std::uint32_t>(to, row_of(out), column_of(out)) = at<std::uint32_t>(from, row_of(in), column_of(in));
  }

  // --- Pairs of elements, half a period apart or side by side, and a table whose columns repeat along a row.
  std::int64_t period_() const { return tensor_[D::table.index].cols(); }
  std::int64_t in_row_() const {
    return tensor_[0].cols() / (requires { D::table; } ? 2 : 1);
  }  // elements, or pairs
  std::int64_t row() const { return i_ / in_row_(); }
  std::int64_t table_rows() const { return tensor_[D::table.index].rows(); }
  template <class O> std::int64_t integer(O) const { return read_integer(tensor_[O::index], row()); }
  template <class O> float load_at(O, std::int64_t table_row) const {
    return read(tensor_[O::index], table_row, i_ % in_row_() % period_());
  }
  template <class O> Pair load_pair(O, bool beside) const {
    return {read(tensor_[O::index], row(), first(beside)), read(tensor_[O::index], row(), second(beside))};
  }
  template <class O> void store_pair(O, float a, float b, bool beside) const {
    write(tensor_[O::index], row(), first(beside), a);
    write(tensor_[O::index], row(), second(beside), b);
  }

 private:
  template <class O> std::int64_t row_of(O) const {
    return tensor_[O::index].rank == 2 ? i_ / tensor_[O::index].cols() : i_;
  }
  template <class O> std::int64_t column_of(O) const { return i_ % tensor_[O::index].cols(); }
  std::int64_t first(bool beside) const {
    const std::int64_t pair = i_ % in_row_();
    return beside ? 2 * pair : pair / period_() * 2 * period_() + pair % period_();
  }
  std::int64_t second(bool beside) const { return first(beside) + (beside ? 1 : period_()); }
};

// What a tensor has to work on: elements, or pairs of them.
template <class D> std::int64_t work_of(const Operands& tensor) {
  return requires { D::table; } ? tensor[0].elements() / 2 : tensor[0].elements();
}

// Whether anything speaks against it before anything is written: a row that is refused, what the call has once, or an
// element that calls it off.
template <class D> Answer check_each(const Call& call) {
  const std::span<const Operands> sets = sets_of(call);
  if constexpr (requires(EachMachine<D>& m) { D::accepts(m); }) {
    EachMachine<D> m(call, sets[0]);
    for (std::int64_t row = 0; row < sets[0][0].rows() && D::asks(m); ++row) {
      m.i_ = row * m.in_row_();
      if (!D::accepts(m)) return {Answer::refused, row};
    }
  }
  if constexpr (requires(EachMachine<D>& m) { D::valid_once(m); })
    if (const EachMachine<D> m(call, sets[0]); D::checked_once(m) && !D::valid_once(m))
      return {Answer::skipped, kByTheCall, kByTheCall};
  if constexpr (requires(EachMachine<D>& m) { D::valid(m); })
    for (std::size_t t = 0; t < sets.size(); ++t) {
      EachMachine<D> m(call, sets[t]);
      if (!D::checked(m)) break;
      for (m.i_ = 0; m.i_ < work_of<D>(sets[t]); ++m.i_)
        if (!D::valid(m)) return {Answer::skipped, m.i_, static_cast<std::int64_t>(t)};
    }
  return {};
}

template <class D> Answer finished(const Call& call, const Answer& answer) {
  if constexpr (requires(EachMachine<D>& m) { D::finish(m); }) {
    EachMachine<D> m(call, call.list.front());
    m.skipped_ = answer.kind == Answer::skipped;
    D::finish(m);
  }
  return answer;
}

template <class D> Answer run_each(const Call& call, std::byte* kept) {
  const Journal journal(kept);
  const bool resumed = kept != nullptr && journal.begun();
  const std::span<const Operands> sets = sets_of(call);
  const Answer answer = resumed ? Answer{} : check_each<D>(call);
  if (answer.kind != Answer::good) return finished<D>(call, answer);
  const auto update = [&](const Operands& tensor, std::int64_t begin, std::int64_t end) {
    EachMachine<D> m(call, tensor);
    for (m.i_ = begin; m.i_ < end; ++m.i_) D::element(m);
  };
  if (kept == nullptr) {
    for (const Operands& tensor : sets) update(tensor, 0, work_of<D>(tensor));
    return finished<D>(call, answer);
  }
  if (resumed) journal.put_back(call);
  journal.begin();
  const std::int64_t units = list_units(list_elements(call));
  for (std::int64_t unit = 0; unit < units; ++unit) journal.work(call, unit, update);
  return finished<D>(call, answer);
}

}  // namespace tokitai::reference

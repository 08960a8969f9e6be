// The each pattern over a number type. Whether the step is called off was decided by the device: a call that was
// skipped is not analysed.
#pragma once
#include "contract/roles.h"
#include "machines/analysis/elements.h"
#include "patterns/names.h"

namespace tokitai::analysis {

template <class N> struct Pair {
  N first, second;
};

template <class N, class D> struct EachMachine : D::Names {
  const Call& call_;
  Data<N> data_, first_;  // of this tensor, and of the first set, which holds what a list's call has once
  std::int64_t i_ = 0;

  EachMachine(const Call& c, Data<N> d, Data<N> f) : call_(c), data_(d), first_(f) {}
  template <int I> N value(Scalar<I>) const { return N::given(call_.scalars[I]); }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call_.option(I).i; }
  template <class O> bool has(O) const { return data_.view(O::index).present(); }
  template <int I> bool has(Once<I>) const { return first_.view(I).present(); }
  template <int I> N once(Once<I>) const { return first_.read(I, 0); }
  template <class O> N load(O) const { return data_.read(O::index, row_of(O{}), column_of(O{})); }
  template <class O> void store(O, N v) { data_.write(O::index, row_of(O{}), column_of(O{}), std::move(v)); }
  template <class O, class I> void convert(O out, I in) { store(out, load(in)); }

  // --- Pairs of elements and a table: machines/reference/each.h.
  std::int64_t period_() const { return data_.view(D::table.index).cols(); }
  std::int64_t in_row_() const {
    return data_.view(0).cols() / (requires { D::table; } ? 2 : 1);
  }
  std::int64_t row() const { return i_ / in_row_(); }
  std::int64_t table_rows() const { return data_.view(D::table.index).rows(); }
  template <class O> std::int64_t integer(O) const { return reference::read_integer(data_.view(O::index), row()); }
  template <class O> N load_at(O, std::int64_t table_row) const {
    return data_.read(O::index, table_row, i_ % in_row_() % period_());
  }
  template <class O> Pair<N> load_pair(O, bool beside) const {
    return {data_.read(O::index, row(), first(beside)), data_.read(O::index, row(), second(beside))};
  }
  template <class O> void store_pair(O, N a, N b, bool beside) {
    data_.write(O::index, row(), first(beside), std::move(a));
    data_.write(O::index, row(), second(beside), std::move(b));
  }

 private:
  template <class O> std::int64_t row_of(O) const {
    return data_.view(O::index).rank == 2 ? i_ / data_.view(O::index).cols() : i_;
  }
  template <class O> std::int64_t column_of(O) const { return i_ % data_.view(O::index).cols(); }
  std::int64_t first(bool beside) const {
    const std::int64_t pair = i_ % in_row_();
    return beside ? 2 * pair : pair / period_() * 2 * period_() + pair % period_();
  }
  std::int64_t second(bool beside) const { return first(beside) + (beside ? 1 : period_()); }
};

template <class N, class D> void run_each(const Call& call, const Sets<N>& given, Sets<N>& made) {
  const std::span<const Operands> sets = sets_of(call);
  made.assign(sets.size(), {});
  for (std::size_t t = 0; t < sets.size(); ++t) {
    EachMachine<N, D> m(call, Data<N>(sets[t], given, made, t), Data<N>(sets[0], given, made, 0));
    const std::int64_t work = requires { D::table; } ? sets[t][0].elements() / 2 : sets[t][0].elements();
    for (m.i_ = 0; m.i_ < work; ++m.i_) D::element(m);
  }
}

}  // namespace tokitai::analysis

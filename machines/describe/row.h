// The row pattern, described: one row, one element of it.
#pragma once
#include "machines/describe/asked.h"
#include "patterns/reduction.h"

namespace tokitai::describing {

struct Element {};  // stands for any of a row

struct Values {
  Traced value;
  Traced operator[](Element) const { return value; }
  Traced keep(Element, Traced v) const { return v; }
};

template <class D> struct RowMachine : Asked<D> {
  using Asked<D>::Asked, Asked<D>::call, Asked<D>::record, Asked<D>::traced, Asked<D>::whole, Asked<D>::element,
      Asked<D>::has;

  template <int I> static constexpr Set set = set_of(I);
  template <class O> bool has(O) const { return call.operand(O::index).present(); }
  Traced cols() const { return traced(); }
  std::int64_t width() const { return 1; }
  std::int64_t counted() const {
    record.counted = true;
    return 1;
  }
  template <class O> Traced number(O) const { return asked<O>(record.row_values); }
  template <class O> Whole integer(O) const {
    asked<O>(record.row_values);
    return whole();
  }
  template <class O> Values load(O) const { return {asked<O>(record.loaded)}; }
  template <class O> Values read(O) const { return {asked<O>(record.read)}; }
  template <class O> Values columns(O) const { return {asked<O>(record.columns)}; }
  template <class O> Values make(O) const {
    record.made |= set_of(O::index);
    return {traced()};
  }
  template <class... Term> Reduced<Traced, sizeof...(Term)> reduce(const Term&... term) const {
    record.terms = std::max(record.terms, static_cast<int>(sizeof...(Term)));
    return {element([&] { return term.step(traced(), Element{}); })...};
  }
  template <class F> Traced sum(F f) const { return reduce(Sum{f}).first; }
  template <class F> Traced sum_fma(F f) const { return reduce(SumFma{f}).first; }
  template <class F> Traced max(F f) const { return reduce(Max{f}).first; }
  Traced pick(Values x, Whole) const { return x.value; }

  template <class O, class F> void store(O, F f) const {
    if (!write<O>(record.stored)) return;
    element([&] { return Traced(f(Element{})); });
  }
  template <class O, class F, class G> void store_but(O out, Whole, G, F f) const { store(out, f); }
  template <class O> void put(O, Traced) const {
    Set put = 0;
    write<O>(put);
  }
  template <class O> Traced rounded(O, Traced v) const { return v; }

  template <class O, class Term, class... Rest> void column_sums(O, const Term& term, const Rest&... rest) const {
    if (write<O>(record.column_sums)) element([&] { return term.step(traced(), Element{}); });
    if constexpr (sizeof...(Rest) > 0) column_sums(rest...);
  }

  template <class O> Traced total(O) const {
    record.totals |= set_of(O::index);
    return traced();
  }
  template <class O, class V> void put_once(O, V) const { write<O>(record.once); }

 private:
  template <class O> Traced asked(Set& kind) const {
    kind |= set_of(O::index);
    record.reads |= set_of(O::index);
    return traced();
  }
  template <class O> bool write(Set& kind) const {
    if (!call.operand(O::index).present()) return false;
    kind |= set_of(O::index);
    record.writes |= set_of(O::index);
    return true;
  }
};

template <class D> Record describe_row(const Call& call) {
  RowMachine<D> m(call);
  D::row(m);
  if constexpr (requires { D::finish(m); }) {
    RowMachine<D> after(call);
    D::finish(after);
    if (after.record.once != 0) {  // otherwise nothing comes of it
      m.record.writes |= after.record.writes;
      m.record.once = after.record.once;
      m.record.totals = after.record.totals;
      m.record.counted = m.record.counted || after.record.counted;
    }
  }
  if constexpr (requires { D::valid(m); }) {
    RowMachine<D> before(call);
    static_cast<void>(D::valid(before));
    m.record.checks = true;
    m.record.reads |= before.record.reads;
    m.record.row_values |= before.record.row_values;
  }
  m.record.pattern = Pattern::row;
  m.record.operations = m.tally.operations;
  return m.record;
}

}  // namespace tokitai::describing

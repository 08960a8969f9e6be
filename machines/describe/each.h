// The each pattern, described: one element of every kind of tensor that the call has.
#pragma once
#include <algorithm>
#include <vector>

#include "contract/roles.h"
#include "machines/describe/asked.h"

namespace tokitai::describing {

template <class D> struct EachMachine : Asked<D> {
  using Asked<D>::call, Asked<D>::record, Asked<D>::traced, Asked<D>::whole, Asked<D>::has;
  const Set given;  // the operands of this kind of tensor

  EachMachine(const Call& c, Set operands) : Asked<D>(c), given(operands) {}
  template <class O> bool has(O) const { return holds(given, O::index); }
  template <int I> bool has(Once<I>) const { return call.list.front()[I].present(); }
  template <int I> Traced once(Once<I>) const {
    record.reads |= set_of(I);
    return traced();
  }
  template <int I, class V> void put_once(Once<I> out, V) const {
    if (!has(out)) return;
    record.writes |= set_of(I);
    record.once |= set_of(I);
  }
  std::int64_t skipped() const { return 0; }
  template <class O> Traced load(O) const {
    record.reads |= set_of(O::index);
    return traced();
  }
  template <class O> void store(O, Traced) const {
    if (has(O{})) record.writes |= set_of(O::index);
  }
  template <class O, class I> void convert(O out, I in) const { store(out, load(in)); }

  struct Pair {
    Traced first, second;
  };
  Whole row() const { return whole(); }
  std::int64_t table_rows() const { return 1; }
  template <class O> Whole integer(O) const {
    record.reads |= set_of(O::index);
    record.row_values |= set_of(O::index);
    return whole();
  }
  template <class O> Traced load_at(O table, Whole) const {
    record.tables |= set_of(O::index);
    return load(table);
  }
  template <class O> Pair load_pair(O in, bool) const { return {load(in), load(in)}; }
  template <class O> void store_pair(O out, Traced a, Traced, bool) const { store(out, a); }
};

inline Set given_of(const Operands& tensor) {
  Set given = 0;
  for (int i = 0; i < kMaxOperands; ++i)
    if (tensor[static_cast<std::size_t>(i)].present()) given |= set_of(i);
  return given;
}

template <class D> Record describe_each(const Call& call) {
  Record all;
  all.pattern = Pattern::each;
  std::vector<Set> kinds;
  for (const Operands& tensor : sets_of(call))
    if (const Set given = given_of(tensor); std::find(kinds.begin(), kinds.end(), given) == kinds.end())
      kinds.push_back(given);
  for (const Set given : kinds) {
    EachMachine<D> m(call, given);
    m.element([&] { return D::element(m), 0; });
    if constexpr (requires { D::valid(m); })
      if (D::checked(m)) all.checks = true;
    if constexpr (requires { D::valid_once(m); })
      if (D::checked_once(m)) {
        all.checks_once = true;
        static_cast<void>(D::valid_once(m));
      }
    if constexpr (requires { D::finish(m); }) D::finish(m);
    if constexpr (requires { D::accepts(m); })
      if (D::asks(m)) {
        static_cast<void>(D::accepts(m));
        all.asks_rows = true;
      }
    if constexpr (requires { D::table; }) {
      all.table = D::table.index;
      m.tally.operations /= 2;  // were counted for a pair
    }
    all.reads |= m.record.reads;
    all.writes |= m.record.writes;
    all.once |= m.record.once;
    all.tables |= m.record.tables;
    all.row_values |= m.record.row_values;
    all.options |= m.record.options;
    all.scalars |= m.record.scalars;
    all.operations = std::max(all.operations, m.tally.operations);
  }
  return all;
}

}  // namespace tokitai::describing

// The each pattern, described: one element of every kind of tensor that the call has.
#pragma once
#include <algorithm>
#include <vector>

#include "contract/roles.h"
#include "machines/describe/asked.h"

namespace tokitai::describing {

template <class D> struct EachMachine : Asked<D> {
  using Asked<D>::call, Asked<D>::record, Asked<D>::traced, Asked<D>::has;
  const Set given;  // the operands of this kind of tensor

  EachMachine(const Call& c, Set operands) : Asked<D>(c), given(operands) {}
  template <class O> bool has(O) const { return holds(given, O::index); }
  template <class O> Traced load(O) const {
    record.reads |= set_of(O::index);
    return traced();
  }
  template <class O> void store(O, Traced) const {
    if (has(O{})) record.writes |= set_of(O::index);
  }
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
    all.reads |= m.record.reads;
    all.writes |= m.record.writes;
    all.options |= m.record.options;
    all.scalars |= m.record.scalars;
    all.operations = std::max(all.operations, m.tally.operations);
  }
  return all;
}

}  // namespace tokitai::describing

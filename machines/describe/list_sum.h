// A sum over a list, described: one term, and what is made of the total.
#pragma once
#include "machines/describe/each.h"

namespace tokitai::describing {

template <class D> struct ListSumMachine : EachMachine<D> {
  using EachMachine<D>::EachMachine, EachMachine<D>::traced;
  Traced total() const { return traced(); }
};

template <class D> Record describe_list_sum(const Call& call) {
  ListSumMachine<D> m(call, given_of(call.list.front()));
  m.element([&] {
    const auto term = D::term(m);
    return fma(term.a, term.b, m.traced());
  });
  D::finish(m);
  m.record.pattern = Pattern::list_sum;
  m.record.operations = m.tally.operations;
  return m.record;
}

}  // namespace tokitai::describing

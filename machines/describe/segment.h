// The segment pattern, described.
#pragma once
#include "machines/describe/asked.h"

namespace tokitai::describing {

template <class D> struct SegmentMachine : Asked<D> {
  using Asked<D>::Asked, Asked<D>::record;

  template <class Y, class W, class I, class P> void gather(Y, W, I, P) const {
    rows<I, P>(W::index, Y::index, false);
    record.reads |= set_of(W::index);
    record.writes |= set_of(Y::index);
  }
  template <class W, class Y, class I, class P> void scatter_sum(W, Y, I, P, bool accumulate) const {
    rows<I, P>(W::index, Y::index, true);
    record.accumulates = accumulate;
    record.operations = 1;
    record.reads |= set_of(Y::index) | (accumulate ? set_of(W::index) : 0);
    record.writes |= set_of(W::index);
  }

 private:
  template <class I, class P> void rows(int table, int queries, bool sums) const {
    record.index = I::index;
    record.padding = P::index;
    record.table = table;
    record.queries = queries;
    record.sums = sums;
    record.reads |= set_of(I::index);
    record.options |= set_of(P::index);
  }
};

template <class D> Record describe_segment(const Call& call) {
  SegmentMachine<D> m(call);
  D::segment(m);
  m.record.pattern = Pattern::segment;
  m.record.checks = true;
  return m.record;
}

}  // namespace tokitai::describing

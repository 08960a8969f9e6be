// The tile pattern, described.
#pragma once
#include "machines/describe/asked.h"

namespace tokitai::describing {

template <class D> struct TileMachine : Asked<D> {
  using Asked<D>::Asked, Asked<D>::record;

  template <class C, class A, class B> void product(C, A a, B b) const {
    record.out = C::index;
    factor(a, record.a, record.a_transposed);
    factor(b, record.b, record.b_transposed);
    record.reads |= set_of(record.a) | set_of(record.b);
    record.writes |= set_of(C::index);
    record.operations += kFma;
  }

 private:
  template <class O> static void factor(O, int& operand, bool& transposed) {
    operand = O::index;
    transposed = false;
  }
  template <class O> static void factor(Transposed<O>, int& operand, bool& transposed) {
    operand = O::index;
    transposed = true;
  }
};

template <class D> Record describe_tile(const Call& call) {
  TileMachine<D> m(call);
  D::tile(m);
  m.record.pattern = Pattern::tile;
  return m.record;
}

}  // namespace tokitai::describing

// The tile pattern, described.
#pragma once
#include "contract/arithmetic.h"
#include "machines/describe/asked.h"

namespace tokitai::describing {

template <class D> struct TileMachine : Asked<D> {
  using Asked<D>::Asked, Asked<D>::call, Asked<D>::record;

  template <class C, class A, class B, class Start = Nothing, class Bias = Nothing, class How = Nothing>
  void product(C, A a, B b, Start = {}, Bias = {}, How how = {}) const {
    record.out = C::index;
    record.start = given<Start>();
    record.bias = given<Bias>();
    record.arithmetic = arithmetic_of(how);
    factor(a, record.a, record.a_transposed);
    factor(b, record.b, record.b_transposed);
    record.reads |= set_of(record.a) | set_of(record.b);
    record.writes |= set_of(C::index);
    record.operations += kFma;
  }
  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  void grouped_product(C out, A a, B b, Offsets, Start start = {}, How how = {}) const {
    product(out, a, b, start, Nothing{}, how);
    record.offsets = Offsets::index;
    record.reads |= set_of(Offsets::index);
    record.checks = true;
  }

 private:
  template <class O> int given() const {
    if (O::index < 0 || !call.operand(O::index).present()) return -1;
    record.reads |= set_of(O::index);
    return O::index;
  }
  template <class O> Arithmetic arithmetic_of(O option) const { return static_cast<Arithmetic>(this->value(option)); }
  static Arithmetic arithmetic_of(Nothing) { return Arithmetic::chain; }
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

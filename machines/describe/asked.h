// What the describe machines of all patterns share: options and scalars are the call's own, memory is never looked at.
#pragma once
#include "contract/record.h"
#include "machines/describe/traced.h"
#include "patterns/names.h"

namespace tokitai::describing {

template <class D> struct Asked : D::Names {
  const Call& call;
  mutable Record record{};
  mutable Tally tally{};

  explicit Asked(const Call& c) : call(c) {}
  template <int I> float value(Scalar<I>) const {
    record.scalars |= set_of(I);
    return call.scalars[I];
  }
  template <int I> std::int64_t value(IntegerOption<I>) const {
    record.options |= set_of(I);
    return call.option(I).i;
  }
  template <int I> bool has(IntegerOption<I>) const {
    record.options |= set_of(I);
    return call.option(I).set;
  }
  template <class O> bool flag(O option) const { return value(option) != 0; }

  Traced traced() const { return Traced(&tally); }
  Whole whole() const { return Whole(&tally); }
  // What is asked inside stands for one element.
  template <class F> auto element(F f) const {
    tally.counts = true;
    auto result = f();
    tally.counts = false;
    return result;
  }
};

}  // namespace tokitai::describing

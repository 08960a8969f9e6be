// The each pattern as a plain loop over a list of tensors, one element at a time.
#pragma once
#include "machines/reference/memory.h"
#include "patterns/names.h"
#include "runtime/kernel_table.h"

namespace tokitai::reference {

template <class D> struct EachMachine : D::Names {
  const Call& call;
  const Operands& tensor;
  const Operands& into;
  std::int64_t i = 0;

  EachMachine(const Call& c, std::size_t t) : call(c), tensor(c.list[t]), into(c.written(t)) {}
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <class O> bool has(O) const { return tensor[O::index].present(); }
  template <class O> float load(O) const { return read(tensor[O::index], i); }
  template <class O> void store(O, float v) const { write(into[O::index], i, 0, v); }
};

template <class D> Answer run_each(const Call& call) {
  if constexpr (requires(EachMachine<D>& m) { D::valid(m); })
    for (std::size_t t = 0; t < call.list.size(); ++t) {
      EachMachine<D> m(call, t);
      if (!D::checked(m)) break;
      for (m.i = 0; m.i < call.list[t][0].elements(); ++m.i)
        if (!D::valid(m)) return {Answer::skipped, m.i, static_cast<std::int64_t>(t)};
    }
  for (std::size_t t = 0; t < call.list.size(); ++t) {
    EachMachine<D> m(call, t);
    for (m.i = 0; m.i < call.list[t][0].elements(); ++m.i) D::element(m);
  }
  return {};
}

}  // namespace tokitai::reference

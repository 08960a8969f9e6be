// The each pattern over a number type. Whether the step is called off was decided by the device: a call that was
// skipped is not analysed.
#pragma once
#include "machines/analysis/elements.h"
#include "patterns/names.h"

namespace tokitai::analysis {

template <class N, class D> struct EachMachine : D::Names {
  const Call& call;
  Data<N> data, first;  // of this tensor, and of the list's first, which holds what the call has once
  std::int64_t i = 0;

  EachMachine(const Call& c, Data<N> d, Data<N> f) : call(c), data(d), first(f) {}
  template <int I> N value(Scalar<I>) const { return N::given(call.scalars[I]); }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <class O> bool has(O) const { return data.view(O::index).present(); }
  template <int I> bool has(Once<I>) const { return first.view(I).present(); }
  template <int I> N once(Once<I>) const { return first.read(I, 0); }
  template <class O> N load(O) const { return data.read(O::index, i); }
  template <class O> void store(O, N v) { data.write(O::index, i, 0, std::move(v)); }
};

template <class N, class D> void run_each(const Call& call, const Sets<N>& given, Sets<N>& made) {
  made.assign(call.list.size(), {});
  for (std::size_t t = 0; t < call.list.size(); ++t) {
    EachMachine<N, D> m(call, Data<N>(call.list[t], given, made, t), Data<N>(call.list[0], given, made, 0));
    for (m.i = 0; m.i < call.list[t][0].elements(); ++m.i) D::element(m);
  }
}

}  // namespace tokitai::analysis

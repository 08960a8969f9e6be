// The each pattern as a plain loop over a list of tensors, one element at a time.
#pragma once
#include "machines/reference/memory.h"
#include "patterns/journal.h"
#include "patterns/names.h"
#include "runtime/kernel_table.h"

namespace tokitai::reference {

template <class D> struct EachMachine : D::Names {
  const Call& call;
  const Operands& tensor;
  std::int64_t i = 0;
  bool was_skipped = false;

  EachMachine(const Call& c, const Operands& t) : call(c), tensor(t) {}
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <class O> bool has(O) const { return tensor[O::index].present(); }
  template <int I> bool has(Once<I>) const { return call.list.front()[I].present(); }
  template <int I> float once(Once<I>) const { return read(call.list.front()[I], 0); }
  template <int I> void put_once(Once<I> out, std::int64_t v) const {
    if (has(out)) at<std::int64_t>(call.list.front()[I], 0, 0) = v;
  }
  std::int64_t skipped() const { return was_skipped ? 1 : 0; }
  template <class O> float load(O) const { return read(tensor[O::index], i); }
  template <class O> void store(O, float v) const { write(tensor[O::index], i, 0, v); }
};

// Whether the step is called off, by what the call has once or by an element.
template <class D> Answer check_each(const Call& call) {
  if constexpr (requires(EachMachine<D>& m) { D::valid_once(m); })
    if (const EachMachine<D> m(call, call.list.front()); D::checked_once(m) && !D::valid_once(m))
      return {Answer::skipped, kByTheCall, kByTheCall};
  if constexpr (requires(EachMachine<D>& m) { D::valid(m); })
    for (std::size_t t = 0; t < call.list.size(); ++t) {
      EachMachine<D> m(call, call.list[t]);
      if (!D::checked(m)) break;
      for (m.i = 0; m.i < call.list[t][0].elements(); ++m.i)
        if (!D::valid(m)) return {Answer::skipped, m.i, static_cast<std::int64_t>(t)};
    }
  return {};
}

template <class D> Answer finished(const Call& call, const Answer& answer) {
  if constexpr (requires(EachMachine<D>& m) { D::finish(m); }) {
    EachMachine<D> m(call, call.list.front());
    m.was_skipped = answer.kind == Answer::skipped;
    D::finish(m);
  }
  return answer;
}

template <class D> Answer run_each(const Call& call) {
  const Journal journal(call.journal);
  const bool resumed = call.journal != nullptr && journal.begun();
  const Answer answer = resumed ? Answer{} : check_each<D>(call);
  if (answer.kind != Answer::good) return finished<D>(call, answer);
  const auto update = [&](const Operands& tensor, std::int64_t begin, std::int64_t end) {
    EachMachine<D> m(call, tensor);
    for (m.i = begin; m.i < end; ++m.i) D::element(m);
  };
  if (call.journal == nullptr) {
    for (const Operands& tensor : call.list) update(tensor, 0, tensor[0].elements());
    return finished<D>(call, answer);
  }
  if (resumed) journal.put_back(call);
  journal.begin();
  const std::int64_t units = list_units(list_elements(call));
  for (std::int64_t unit = 0; unit < units; ++unit) journal.work(call, unit, update);
  return finished<D>(call, answer);
}

}  // namespace tokitai::reference

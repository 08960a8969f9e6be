// A sum over every element of a list of tensors over a number type: the reference's loops with N in place of float.
#pragma once
#include <algorithm>

#include "machines/analysis/each.h"
#include "patterns/column.h"

namespace tokitai::analysis {

// After every element.
template <class N, class D> struct ListSumMachine : D::Names {
  const Call& call;
  Data<N> first;  // the first tensor's set, which holds what the call has once
  N sum;

  ListSumMachine(const Call& c, Data<N> f, N s) : call(c), first(f), sum(std::move(s)) {}
  N total() const { return sum; }
  template <int I> N value(Scalar<I>) const { return N::given(call.scalars[I]); }
  template <int I> void put_once(Once<I>, N v) {
    if (first.view(I).present()) first.write(I, 0, 0, std::move(v));
  }
};

template <class N, class D> N block_value(EachMachine<N, D>& m, std::int64_t begin, std::int64_t end) {
  std::vector<N> lane(kLanes, N(0.0f));
  for (m.i_ = begin; m.i_ < end; ++m.i_) {
    N& chain = lane[static_cast<std::size_t>((m.i_ - begin) % kLanes)];
    const auto term = D::term(m);
    chain = fma(term.a, term.b, chain);
  }
  for (std::size_t width = kLanes; width > 1; width /= 2)
    for (std::size_t l = 0; l < width / 2; ++l) lane[l] = lane[2 * l] + lane[2 * l + 1];
  return lane[0];
}

template <class N, class D> void run_list_sum(const Call& call, const Sets<N>& given, Sets<N>& made) {
  made.assign(call.list.size(), {});
  std::vector<N> blocks;
  for (std::size_t t = 0; t < call.list.size(); ++t) {
    EachMachine<N, D> m(call, Data<N>(call.list[t], given, made, t), Data<N>(call.list[0], given, made, 0));
    for (std::int64_t begin = 0, n = call.list[t][0].elements(); begin < n; begin += kBlock)
      blocks.push_back(block_value(m, begin, std::min(n, begin + kBlock)));
  }
  std::vector<N> partials(blocks.size() / kChain + 1, N(0.0f));
  column_total(blocks.data(), static_cast<std::int64_t>(blocks.size()), partials.data());
  ListSumMachine<N, D> m(call, Data<N>(call.list.front(), given, made, 0), partials[0]);
  D::finish(m);
}

}  // namespace tokitai::analysis

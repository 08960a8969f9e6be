// A sum over every element of a list of tensors as plain loops. This text defines its bits.
#pragma once
#include <algorithm>
#include <vector>

#include "machines/reference/each.h"
#include "patterns/column.h"

namespace tokitai::reference {

// After every element.
template <class D> struct ListSumMachine : D::Names {
  const Call& call;
  float sum;

  ListSumMachine(const Call& c, float s) : call(c), sum(s) {}
  float total() const { return sum; }
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> void put_once(Once<I>, float v) const {
    if (call.list.front()[I].present()) write(call.list.front()[I], 0, 0, v);
  }
};

// The elements [begin, end) of a tensor, a block of the canonical row order.
template <class D> float block_value(const Call& call, const Operands& tensor, std::int64_t begin, std::int64_t end) {
  float lane[kLanes] = {};
  EachMachine<D> m(call, tensor);
  for (m.i_ = begin; m.i_ < end; ++m.i_) {
    float& chain = lane[(m.i_ - begin) % kLanes];
    const auto term = D::term(m);
    chain = fma(term.a, term.b, chain);
  }
  for (int width = kLanes; width > 1; width /= 2)
    for (int l = 0; l < width / 2; ++l) lane[l] = lane[2 * l] + lane[2 * l + 1];
  return lane[0];
}

template <class D> Answer run_list_sum(const Call& call) {
  std::vector<float> blocks;  // no block belongs to two tensors, and an empty tensor has none
  for (const Operands& tensor : call.list)
    for (std::int64_t begin = 0, n = tensor[0].elements(); begin < n; begin += kBlock)
      blocks.push_back(block_value<D>(call, tensor, begin, std::min(n, begin + kBlock)));
  std::vector<float> partials(blocks.size() / kChain + 1, 0.0f);
  column_total(blocks.data(), static_cast<std::int64_t>(blocks.size()), partials.data());
  ListSumMachine<D> m(call, partials[0]);
  D::finish(m);
  return {};
}

}  // namespace tokitai::reference

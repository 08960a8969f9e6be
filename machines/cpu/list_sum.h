// A sum over every element of a list of tensors, on SIMD lanes and threads: a unit of work is a chain of 32 blocks,
// which may span tensors while no block does.
#pragma once
#include <algorithm>

#include "machines/cpu/each.h"
#include "machines/cpu/row.h"
#include "patterns/column.h"

namespace tokitai::cpu::TK_ISA {

// After every element.
template <class D> struct ListSumMachine : D::Names {
  const Call& call;
  float sum;

  ListSumMachine(const Call& c, float s) : call(c), sum(s) {}
  float total() const { return sum; }
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> void put_once(Once<I>, float v) const {
    if (const View& out = call.list.front()[I]; out.present()) *static_cast<float*>(out.data) = canonical(v);
  }
};

// One register of chains.
template <class D, class M> TK_FN Lanes next(M& m, std::int64_t at, std::int64_t count, Lanes chain) {
  m.i = at;
  m.count = count;
  const auto term = D::term(m);
  return fma(term.a, term.b, chain);
}

// A block of a tensor's elements from `begin` on. Chains of a whole one stay in registers.
template <class D, Type S, bool kWhole>
__attribute__((flatten)) float block_value(const Call& call, const Operands& tensor, std::int64_t begin,
                                           std::int64_t length) {
  constexpr int kTogether = chains_together(1), kStep = kTogether * kWidth;
  EachMachine<D, S> m(call, tensor);
  Quad folded[kQuads];
  for (int lane = 0; lane < kLanes; lane += kStep) {
    Lanes chain[kTogether];
    for (Lanes& one : chain) one = Lanes(0.0f);
#pragma GCC unroll 1
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const std::int64_t at = chunk * kLanes + lane;
      if constexpr (kWhole) {
#pragma GCC unroll 16
        for (int u = 0; u < kTogether; ++u) chain[u] = next<D>(m, begin + at + u * kWidth, kWidth, chain[u]);
      } else {
        for (int u = 0; u < kTogether && at + u * kWidth < length; ++u) {
          const std::int64_t count = std::min<std::int64_t>(kWidth, length - (at + u * kWidth));
          chain[u] = select(first_lanes(count), next<D>(m, begin + at + u * kWidth, count, chain[u]), chain[u]);
        }
      }
    }
    for (int u = 0; u < kTogether; u += 4) folded[(lane / kWidth + u) / 4] = fold4<SumFma<int>>(chain + u);
  }
  return fold_all<SumFma<int>>(folded);
}
template <class D, Type S>
float block_value(const Call& call, const Operands& tensor, std::int64_t begin, std::int64_t length) {
  return length == kBlock ? block_value<D, S, true>(call, tensor, begin, length)
                          : block_value<D, S, false>(call, tensor, begin, length);
}
// Each tensor has a type of its own.
template <class D>
float block_value(const Call& call, const Operands& tensor, std::int64_t begin, std::int64_t length) {
  switch (tensor[0].type) {
    case Type::bf16: return block_value<D, Type::bf16>(call, tensor, begin, length);
    case Type::f32: return block_value<D, Type::f32>(call, tensor, begin, length);
    default: return block_value<D, Type::f16>(call, tensor, begin, length);
  }
}

template <class D> Answer run_list_sum(const Call& call, Pool& pool) {
  // The blocks in front of each tensor, then a partial result per chain.
  const auto tensors = static_cast<std::int64_t>(call.list.size());
  std::int64_t blocks = 0;
  for (const Operands& tensor : call.list) blocks += (tensor[0].elements() + kBlock - 1) / kBlock;
  const std::int64_t chains = (blocks + kChain - 1) / kChain;
  auto* before =
      static_cast<std::int64_t*>(pool.shared_scratch().reserve(static_cast<std::size_t>(8 * tensors + 4 * chains)));
  if (before == nullptr) return {Answer::out_of_memory};
  auto* partials = reinterpret_cast<float*>(before + tensors);
  std::int64_t count = 0;
  for (std::int64_t t = 0; t < tensors; ++t) {
    before[t] = count;
    count += (call.list[static_cast<std::size_t>(t)][0].elements() + kBlock - 1) / kBlock;
  }
  pool.run(chains, [&](std::int64_t chain, int) {
    float sum = 0.0f;
    for (std::int64_t b = chain * kChain; b < std::min(blocks, (chain + 1) * kChain); ++b) {
      // The last tensor that begins at or before the block: those without elements begin where the next one does.
      const std::int64_t t = std::upper_bound(before, before + tensors, b) - before - 1;
      const Operands& tensor = call.list[static_cast<std::size_t>(t)];
      const std::int64_t begin = (b - before[t]) * kBlock;
      sum = sum + block_value<D>(call, tensor, begin, std::min<std::int64_t>(kBlock, tensor[0].elements() - begin));
    }
    partials[chain] = sum;
  });
  finish_columns(partials, chains, 1, 1);
  ListSumMachine<D> m(call, chains > 0 ? partials[0] : 0.0f);
  D::finish(m);
  return {};
}

}  // namespace tokitai::cpu::TK_ISA

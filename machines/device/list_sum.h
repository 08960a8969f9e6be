// A sum over every element of a list of tensors on a GPU. A group of 32 threads sums up a block of 2048 elements in
// registers, each thread with its lanes' whole chains; a block of threads joins the values of 32 blocks, a chain of the
// column order; the last block of threads joins the chains and finishes. So the order is the canonical one, whatever
// the launch looks like.
#pragma once
#include "machines/device/each.h"
#include "machines/device/grid.h"
#include "machines/device/list_sum_shape.h"
#include "machines/device/place_list_sum.h"
#include "machines/device/place_row.h"

namespace tokitai::device {

template <class D, ListSumPlan P> struct ListSumMachine : D::Names {
  using Tensor = device::Tensor<P.operands>;
  static constexpr int kGroups = P.threads / 32;

  const Arguments& arguments_;
  i64 blocks_;  // of all tensors
  float sum_ = 0.0f;

  TK_FN explicit ListSumMachine(const Arguments& a) : arguments_(a), blocks_(a.extent[1]) {}

  // A tensor of the list, as the definition's terms see it.
  template <std::uint64_t kinds> static constexpr EachPlan terms_() {
    EachPlan p{};
    p.kinds = kinds;
    p.operands = P.operands;
    p.wide = P.bytes / bytes_of(kind_at(kinds, 0));
    return p;
  }
  // One vector's step of its lanes' chains.
  template <class M, int wide> static TK_FN Pack<wide> next_(M& m, const Pack<wide>& chain) {
    const auto term = D::term(m);
    return fma(term.a, term.b, chain);
  }

  // The value of a block, in every thread of the group.
  template <std::uint64_t kinds> TK_FN float value_of_(const Tensor& tensor, Place<Row, i64> block) const {
    constexpr EachPlan E = terms_<kinds>();
    constexpr int kParts = kLanes / (32 * E.wide);
    EachMachine<D, E> m(arguments_);
    m.tensor_ = tensor;
    Multiples address{};
    TK_UNROLL
    for (int i = 0; i < P.operands; ++i)
      if (kind_at(kinds, i) != Kind::absent) address |= multiples_of(tensor.data[i]);
    const Place<Begin<Element>, i64> begin = piece_begin(block, i64{tensor.first}, kChunks, kLanes / E.wide, E.wide);
    Pack<E.wide> chain[kParts];
    TK_UNROLL
    for (int part = 0; part < kParts; ++part) {
      TK_UNROLL
      for (int e = 0; e < E.wide; ++e) chain[part].v[e] = 0.0f;
    }
    // A whole block asks nothing, so that all its reads are on their way at once.
    m.aligned_ = true;
    if (address % 16 == 0 && tensor.length - begin >= kBlock) {
      TK_UNROLL
      for (Counter chunk = 0; chunk < kChunks; ++chunk) {
        TK_UNROLL
        for (Counter part = 0; part < kParts; ++part) {
          m.first_ = summed_vector(begin, chunk, part, thread_index(), E.wide);
          chain[part] = next_(m, chain[part]);
        }
      }
    } else {
      m.aligned_ = false;
      TK_UNROLL
      for (Counter part = 0; part < kParts; ++part)
        for (Counter chunk = 0; chunk < kChunks; ++chunk) {
          m.first_ = summed_vector(begin, chunk, part, thread_index(), E.wide);
          const Place<Left, i64> left = left_of(i64{tensor.length}, m.first_);
          if (left <= 0) break;
          m.count_ = at_most(left, E.wide);
          const Pack<E.wide> stepped = next_(m, chain[part]);
          TK_UNROLL
          for (int e = 0; e < E.wide; ++e)
            if (e < m.count_) chain[part].v[e] = stepped.v[e];
        }
    }
    // The pair tree: a thread's lanes, the threads of a part, the parts.
    float v[kParts];
    TK_UNROLL
    for (int part = 0; part < kParts; ++part) {
      Pack<E.wide>& lane = chain[part];
      TK_UNROLL
      for (int step = 1; step < E.wide; step *= 2) {
        TK_UNROLL
        for (int e = 0; e < E.wide; e += 2 * step) lane.v[e] = lane.v[e] + lane.v[e + step];
      }
      v[part] = lane.v[0];
      TK_UNROLL
      for (int mask = 1; mask < 32; mask *= 2) {
        const float other = shuffle_xor(v[part], mask);
        v[part] = v[part] + other;
      }
    }
    TK_UNROLL
    for (int step = 1; step < kParts; step *= 2) {
      TK_UNROLL
      for (int part = 0; part < kParts; part += 2 * step) v[part] = v[part] + v[part + step];
    }
    return v[0];
  }
  TK_FN float block_value_(Place<Row, i64> block) const {
    const Tensor tensor = global<const Tensor, InList>(arguments_.tensors)[tensor_of<Tensor>(arguments_, block)];
    if constexpr (P.kinds[1] == 0) {
      return value_of_<P.kinds[0]>(tensor, block);
    } else {
      if (tensor.kinds == P.kinds[0]) return value_of_<P.kinds[0]>(tensor, block);
      if constexpr (P.kinds[2] != 0)
        if (tensor.kinds == P.kinds[2]) return value_of_<P.kinds[2]>(tensor, block);
      return value_of_<P.kinds[1]>(tensor, block);
    }
  }

  TK_FN Shared<float, Counted> chain_values_() const { return shared<float, Counted>(chain_byte()); }
  TK_FN Global<float, Row> partials_() const {
    return global<float, Workspace>(arguments_.workspace) + values_begin(told_begin(i64{0}));
  }
  // A chain of blocks: their values, then the chain by one thread.
  TK_FN void chain_of_blocks_(Place<Row, i64> chain) const {
    const Shared<float, Counted> values = chain_values_();
    const Counter group = group_of_thread(thread_index());
    for (Counter turn = 0; turn < kChain / kGroups; ++turn) {
      const Counter r = block_in_chain(turn, group, kGroups);
      const Place<Row, i64> block = chained_row(chain, r);
      if (block >= blocks_) break;
      const float v = block_value_(block);
      if (thread_index() % 32 == 0) values[r] = v;
    }
    barrier();
    if (thread_index() == 0) {
      float acc = 0.0f;
      for (Counter r = 0; r < kChain; ++r)
        if (chain * kChain + r < blocks_) acc = acc + values[r];
      partials_()[chain] = acc;
    }
    barrier();  // the next chain's values come to the same place
  }

  // The last block of threads to come here goes on, with every chain's value to be seen.
  TK_FN bool last_block_() const {
    return comes_last(global_one<u32>(arguments_.counter), shared<u32, Counted>(last_byte()));
  }
  // The upper levels of the column order, one behind the other in the workspace.
  TK_FN void join_chains_() {
    Global<float, Row> from = partials_();
    for (i64 count = pieces_of(blocks_, kChain); count > 1;) {
      const i64 chains = pieces_of(count, kChain);
      const Global<float, Row> to = from + level_begin(count);
      for (Place<Row, i64> chain = row_of_thread(thread_index()); chain < chains; chain += P.threads) {
        float v[kChain];
        const i64 first = chain * kChain;
        TK_UNROLL
        for (Counter r = 0; r < kChain; ++r) {
          v[r] = 0.0f;
          if (first + r < count) v[r] = from[chained_row(chain, r)];
        }
        float acc = 0.0f;
        TK_UNROLL
        for (int r = 0; r < kChain; ++r)
          if (first + r < count) acc = acc + v[r];
        to[chain] = acc;
      }
      barrier();
      from = to;
      count = chains;
    }
    if (blocks_ > 0) sum_ = from[given_row(i64{0}, blocks_)];
  }

  // --- What `finish` asks for.
  TK_FN float total() const { return sum_; }
  template <int I> TK_FN float value(Scalar<I>) const { return arguments_.scalar[I]; }
  template <int I> TK_FN void put_once(Once<I>, float v) const {
    if (thread_index() == 0) global<u32, Counted>(arguments_.operand[I].data)[0] = narrow<Kind::f32>(v);
  }
};

template <class D, ListSumPlan P> TK_FN void list_sum_kernel(const Arguments& arguments) {
  ListSumMachine<D, P> m(arguments);
  const i64 chains = pieces_of(m.blocks_, kChain);
  for (Place<Row, i64> chain = worker_of(block_index(), 1); chain < chains; chain += workers_of(grid_size(), 1))
    m.chain_of_blocks_(chain);
  if (m.last_block_()) {
    m.join_chains_();
    D::finish(m);
  }
}

}  // namespace tokitai::device

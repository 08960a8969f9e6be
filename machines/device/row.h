// The row pattern on a GPU. A team of threads holds one row: 256 / wide threads per block of 2048 columns, each
// with its lanes' whole chains, so every reduction follows the canonical order whatever the launch looks like.
// Rows arrive through shared memory, each thread copying for itself while it works on an earlier row. A row too
// long for the chip is read again for every pass (on_chip is false); one that fits a few blocks of a cluster is
// shared by them.
#pragma once
#include "machines/device/grid.h"
#include "machines/device/row_exchange.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, RowPlan P> struct RowMachine : RowExchange<D, P> {
  using Exchange = RowExchange<D, P>;
  using Shape = RowShape<P>;
  using Exchange::arguments_, Exchange::rows_, Exchange::n_, Exchange::thread_, Exchange::rank_, Exchange::lane_;
  using Exchange::first_block_, Exchange::row_, Exchange::stage_, Exchange::column_, Exchange::scratch_floats_;
  using Exchange::for_blocks_, Exchange::for_chunks_, Exchange::inside_, Exchange::fetch_row_, Exchange::look_ahead_;
  using Exchange::holds_;
  template <class O> static constexpr Kind kind = Exchange::template kind<O>;
  template <Kind K> static constexpr int kAccess = Exchange::template kAccess<K>;

  static constexpr int kSums = count_set(P.sums);
  static constexpr int kSummed = P.sums != 0 && P.on_chip ? P.chunks * P.wide : 1;  // elements of a thread
  float sums_[kSums > 0 ? kSums : 1][kSummed];

  TK_FN explicit RowMachine(const Arguments& a) : Exchange(a) {}

  // --- The rows that a check has counted: adding integers gives the same in any order.
  i64 rows_counted_ = 0;
  TK_FN i64 counted() const { return rows_counted_; }
  TK_FN void learn_count_() {
    if constexpr (requires { D::counts(*this); }) {
      static_assert(P.checked, "rows are counted where they are checked");
      rows_counted_ = static_cast<i64>(u64(*global_one<u64>(arguments_.counted)));
    }
  }
  TK_FN void tell_count_(u32 mine) const {
    TK_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) mine += shuffle_xor(mine, mask);
    if (thread_index() % 32 == 0 && mine != 0) atomic_count(global_one<u64>(arguments_.counted), mine);
  }

  // --- Results; those that are absent are not made.
  template <class O, class F> TK_FN void store_vector_(O, At i, Place<Existing, int> count, F f) const {
    constexpr Kind K = kind<O>;
    float v[P.wide];
    TK_UNROLL
    for (Counter e = 0; e < P.wide; ++e) {
      v[e] = 0.0f;
      if (inside_(e, count)) v[e] = f(At{i.block, i.chunk, e});
    }
    const GlobalSpot<Raw<K>> to = elements<K>(arguments_.operand[O::index], row_) + column_of(i.block, i.chunk, lane_);
    if constexpr (P.guard == Guard::elements)
      store_some<K, P.wide>(to, pack<K, P.wide>(v), count);
    else if (!P.blind || count > 0)
      store_packed<K, P.wide, kAccess<K>>(to, pack<K, P.wide>(v));
  }
  template <class O, class F> TK_FN void store(O out, F f) const {
    if constexpr (kind<O> != Kind::absent)
      for_blocks_([&](Place<ColumnBlock, int> block) {
        for_chunks_(block, [&](Counter chunk, Place<Existing, int> count) {
          store_vector_(out, At{block, chunk, 0}, count, f);
        });
      });
  }
  // Everywhere f, in column j g: the one vector that holds j asks each element.
  template <class O, class F, class G> TK_FN void store_but(O out, i64 j, G g, F f) const {
    if constexpr (kind<O> != Kind::absent)
      for_blocks_([&](Place<ColumnBlock, int> block) {
        for_chunks_(block, [&](Counter chunk, Place<Existing, int> count) {
          const i64 away = j - column_of(block, chunk, lane_);
          if (away >= 0 && away < P.wide)
            store_vector_(out, At{block, chunk, 0}, count, [&](At i) { return i.element == away ? g(i) : f(i); });
          else
            store_vector_(out, At{block, chunk, 0}, count, f);
        });
      });
  }
  TK_FN bool leads_() const { return thread_ == 0 && rank_ == 0; }
  template <class O> TK_FN void put(O, float v) const {
    if constexpr (kind<O> != Kind::absent)
      if (leads_()) global<Raw<kind<O>>, Row>(arguments_.operand[O::index].data)[row_] = narrow<kind<O>>(v);
  }

  // --- Column sums: chains of 32 rows in registers, or in the partial row itself.
  TK_FN Place<Begin<Workspace>, i64> behind_scratch_() const {
    return scratch_end(P.on_chip ? 0 : grid_size(), scratch_floats_());
  }
  TK_FN Global<float, Column> partial_row_(Counter which, Place<Row, i64> chain) const {
    const i64 chains = pieces_of(rows_, kChain);
    const Place<Begin<Workspace>, i64> behind = behind_scratch_();
    return global<float, Workspace>(arguments_.workspace) + partial_begin_behind(behind, which, chain, chains, i64{n_});
  }
  TK_FN Global<float, Row> partial_values_() const {
    const Place<Begin<Workspace>, i64> behind = behind_scratch_();
    return global<float, Workspace>(arguments_.workspace) + values_begin(behind);
  }
  template <int which, class Term> TK_FN void column_chain_(const Term& term) {
    for_blocks_([&](Place<ColumnBlock, int> block) {
      for_chunks_(block, [&](Counter chunk, int count) {
        TK_UNROLL
        for (Counter e = 0; e < P.wide; ++e)
          if (inside_(e, count)) {
            const At i{block, chunk, e};
            if constexpr (P.on_chip) {
              float& acc = sums_[which][chunk * P.wide + e];
              acc = term.step(acc, i);
            } else {
              const Global<float, Column> p = partial_row_(which, chain_of(row_));
              const float before = row_ % kChain == 0 ? 0.0f : float(p[column_(i)]);
              p[column_(i)] = term.step(before, i);
            }
          }
      });
    });
  }
  // Any number of outputs, each followed by its term; one that is absent is not summed.
  template <class O, class Term, class... More> TK_FN void column_sums(O, const Term& term, const More&... more) {
    if constexpr ((P.sums >> O::index) & 1u) column_chain_<sum_of_operand_<O::index>()>(term);
    if constexpr (sizeof...(More) > 0) column_sums(more...);
  }
  template <int O> static constexpr int sum_of_operand_() { return count_set(P.sums & ((1u << O) - 1u)); }
  TK_FN void clear_sums_() {
    TK_UNROLL
    for (int i = 0; i < kSummed; ++i) {
      TK_UNROLL
      for (int which = 0; which < kSums; ++which) sums_[which][i] = 0.0f;
    }
  }
  TK_FN void write_sums_(Place<Row, i64> chain) const {
    if constexpr (P.on_chip)
      for_chunks_(first_block_, [&](Counter chunk, int count) {
        TK_UNROLL
        for (Counter which = 0; which < kSums; ++which) {
          const GlobalSpot<float> to = partial_row_(which, chain) + column_of(first_block_, chunk, lane_);
          TK_UNROLL
          for (Counter e = 0; e < P.wide; ++e)
            if (inside_(e, count)) to[e] = sums_[which][chunk * P.wide + e];
        }
      });
  }

  // A few words for all threads, where the box was.
  TK_FN Shared<u32, Counted> words_() const { return shared<u32, Counted>(words_byte(P)); }
  // --- After every row: the last block to finish does this with all its threads.
  TK_FN bool last_block_() const { return comes_last(global_one<u32>(arguments_.counter), words_()); }
  // The column rule over one value per row.
  template <class O> TK_FN float total(O) const {
    static_assert(kind<O> == Kind::f32);
    Global<const float, Row> from = global<const float, Row>(arguments_.operand[O::index].data);
    Global<float, Row> to = partial_values_();
    for (i64 count = rows_; count > 1;) {
      const i64 chains = pieces_of(count, kChain);
      for (Place<Row, i64> chain = row_of_thread(thread_index()); chain < chains; chain += P.threads) {
        const Place<Row, i64> first = chain_begin(chain);
        const i64 end = chain_end(first, count);
        float acc = 0.0f;
        for (Place<Row, i64> r = first; r < end; ++r) acc = acc + from[r];
        to[chain] = acc;
      }
      barrier();
      from = to;
      to = to + level_begin(chains);
      count = chains;
    }
    return rows_ == 1 ? 0.0f + from[given_row(i64{0}, rows_)] : float(from[given_row(i64{0}, rows_)]);
  }
  template <class O> TK_FN void put_once(O, float v) const {
    if constexpr (kind<O> != Kind::absent)
      if (thread_index() == 0) global<u32, Counted>(arguments_.operand[O::index].data)[0] = narrow<kind<O>>(v);
  }
  template <class O> TK_FN void put_once(O, i64 v) const {
    if constexpr (kind<O> != Kind::absent)
      if (thread_index() == 0) global<u64, Counted>(arguments_.operand[O::index].data)[0] = static_cast<u64>(v);
  }

  // Rows from `row` on, `step` apart, each while the next ones are on their way.
  TK_FN void run_(Place<Row, i64> first, i64 end, Place<Step<Row>, i64> step) {
    stage_ = 0;
    TK_UNROLL
    for (Counter s = 0; s < P.stages; ++s) fetch_row_(row_ahead(first, s, step, end, rows_), s);
    holds_ = true;
    if (first < end) this->template fetch_ones_<0>(first);
    for (row_ = first; row_ < end; row_ += step) {
      look_ahead_(row_ahead(row_, 1, step, end, rows_));
      if constexpr (P.on_chip) copy_wait<P.stages - 1>();
      D::row(*this);
      fetch_row_(row_ahead(row_, P.stages, step, end, rows_), stage_);
      stage_ = next_slot(stage_, P.stages);
    }
    holds_ = false;
  }
};

}  // namespace tokitai::device

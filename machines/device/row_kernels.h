// The launches of the row pattern: a check, the rows, and the upper levels of the column rule.
#pragma once
#include "machines/device/row.h"

namespace tokitai::device {

template <class D, RowPlan P> TK_FN void row_kernel(const Arguments& arguments) {
  if constexpr (P.checked) {
    await_earlier();
    if (global<u64>(arguments.flag)[0] != kUnflagged) return;
  }
  RowMachine<D, P> m(arguments);
  m.clear_missing();
  if constexpr (P.cluster > 1) m.open_mailboxes();  // and every block has begun before its memory is written to
  const i64 worker = block_index() / P.cluster, workers = grid_size() / P.cluster;
  if constexpr (P.column_sums) {
    const i64 chains = pieces_of(m.rows, kChain);
    for (i64 chain = worker; chain < chains; chain += workers) {
      const i64 first = chain * kChain, end = first + kChain;
      m.clear_sums();
      m.run(first, end < m.rows ? end : m.rows, 1);
      m.write_sums(chain);
    }
  } else {
    m.run(first_row_of(worker, m.team, P.teams), m.rows, workers * P.teams);
  }
  if constexpr (P.cluster > 1) cluster_barrier();  // no block ends while others may send to it
  if constexpr (P.finishes)
    if (m.last_block()) D::finish(m);
}

// Asks every row before anything is written; the smallest refused one is kept.
template <class D, RowPlan P> TK_FN void row_check_kernel(const Arguments& arguments) {
  let_next_begin();
  RowMachine<D, P> m(arguments);
  for (m.row = static_cast<i64>(block_index()) * P.threads + thread_index(); m.row < m.rows;
       m.row += static_cast<i64>(grid_size()) * P.threads)
    if (!D::valid(m)) atomic_min(global<u64>(arguments.flag), static_cast<u64>(m.row));
}

// The upper levels of the column rule: a block owns 32 columns of one sum, its groups take the chains in turn.
// Levels go back and forth between the partial rows and a second region behind them.
template <RowPlan P, int first_out> TK_FN void column_kernel(const Arguments& arguments) {
  await_earlier();
  const i64 rows = arguments.extent[0], n = arguments.extent[1];
  const i64 per_sum = pieces_of(n, 32);
  const int which = static_cast<int>(sum_of(block_index(), per_sum));
  const i64 column = summed_column(block_index(), thread_index(), per_sum);
  const int group = thread_index() / 32;
  const i64 partials = pieces_of(rows, kChain);
  const i64 region = 2 * partials * n;
  // What the first kernel needed in front of the partial rows is said by the planner.
  const Global<float> base = global<float>(arguments.workspace) + arguments.extent[2];
  Global<float> from = base + which * partials * n;
  const i64 second = pieces_of(partials, kChain);
  Global<float> to = base + (region + which * second * n);
  for (i64 count = partials; count > 1;) {
    const i64 chains = pieces_of(count, kChain);
    for (i64 chain = group; chain < chains; chain += P.threads / 32)
      if (column < n) {
        float v[kChain];
        const i64 first = chain * kChain;  // written out: as chain_begin clang makes other code of it
        TK_UNROLL
        for (int r = 0; r < kChain; ++r) {
          v[r] = 0.0f;
          if (first + r < count) v[r] = from[(first + r) * n + column];
        }
        float acc = 0.0f;
        TK_UNROLL
        for (int r = 0; r < kChain; ++r)
          if (first + r < count) acc = acc + v[r];
        to[chain * n + column] = acc;
      }
    barrier();
    const Global<float> other = from;
    from = to;
    to = other;
    count = chains;
  }
  if (group == 0 && column < n) {
    constexpr Kind K0 = kind_at(P.kinds, first_out), K1 = kind_at(P.kinds, first_out + 1);
    if (which == 0)
      global<Raw<K0>>(arguments.operand[first_out].data)[column] = narrow<K0>(from[column]);
    else
      global<Raw<K1>>(arguments.operand[first_out + 1].data)[column] = narrow<K1>(from[column]);
  }
}

}  // namespace tokitai::device

// The launches of the row pattern: a check, the rows, and the upper levels of the column rule.
#pragma once
#include "machines/device/row.h"

namespace tokitai::device {

template <class D, RowPlan P> TK_FN void row_kernel(const Arguments& arguments) {
  if constexpr (P.checked) {
    await_earlier();
    if (refused(arguments)) return;
  }
  RowMachine<D, P> m(arguments);
  m.clear_missing_();
  m.learn_count_();
  if constexpr (P.cluster > 1) m.open_mailboxes_();  // and every block has begun before its memory is written to
  const Place<Row, i64> worker = worker_of(block_index(), P.cluster);
  const Place<Step<Row>, i64> workers = workers_of(grid_size(), P.cluster);
  if constexpr (P.sums != 0) {
    const i64 chains = pieces_of(m.rows_, kChain);
    for (Place<Row, i64> chain = worker; chain < chains; chain += workers) {
      const Place<Row, i64> first = chain_begin(chain);
      m.clear_sums_();
      m.run_(first, chain_end(first, m.rows_), 1);
      m.write_sums_(chain);
    }
  } else {
    m.run_(first_row_of(worker, m.team_, P.teams), m.rows_, row_step(workers, P.teams));
  }
  if constexpr (P.cluster > 1) cluster_barrier();  // no block ends while others may send to it
  if constexpr (P.finishes)
    if (m.last_block_()) {
      m.learn_count_();  // again, so that no register holds it all the while
      D::finish(m);
    }
}

// Asks every row before anything is written; the smallest refused one is kept, and where it counts, how many rows do.
template <class D, RowPlan P, bool counting> TK_FN void row_check_kernel(const Arguments& arguments) {
  let_next_begin();
  RowMachine<D, P> m(arguments);
  const auto first = [&] { return first_row_of(worker_of(block_index(), 1), thread_index(), P.threads); };
  const auto step = [&] { return asked_step(grid_size(), P.threads); };
  constexpr bool kCounts = counting && requires { D::counts(m); };
  u32 mine = 0;
  for (m.row_ = first(); m.row_ < m.rows_; m.row_ += step()) {
    if constexpr (kCounts) mine += D::counts(m) ? 1u : 0u;
    if (!D::valid(m)) refuse(arguments, static_cast<u64>(m.row_));
  }
  if constexpr (kCounts) m.tell_count_(mine);
}

// A column's sum, of the operand that is the `which`th of those left to ask.
template <RowPlan P, std::uint32_t left>
TK_FN void write_sum(const Arguments& arguments, int which, Place<Column, i64> column, float sum) {
  constexpr int kOut = count_set((left & (~left + 1u)) - 1u);  // its lowest bit
  constexpr Kind K = kind_at(P.kinds, kOut);
  if constexpr ((left & (left - 1u)) != 0)
    if (which != 0) return write_sum<P, left&(left - 1u)>(arguments, which - 1, column, sum);
  global<Raw<K>, Column>(arguments.operand[kOut].data)[column] = narrow<K>(sum);
}

// The upper levels of the column rule: a block owns 32 columns of one sum, its groups take the chains in turn.
// Levels go back and forth between the partial rows and a second region behind them.
template <RowPlan P> TK_FN void column_kernel(const Arguments& arguments) {
  constexpr int kSums = count_set(P.sums);
  await_earlier();
  const i64 rows = arguments.extent[0], n = arguments.extent[1];
  const i64 per_sum = pieces_of(n, 32);
  const Counter which = sum_number(block_index(), per_sum);
  const Place<Column, i64> column = summed_column(block_index(), thread_index(), per_sum);
  const Counter group = group_of_thread(thread_index());
  const i64 partials = pieces_of(rows, kChain);
  // What the first kernel needed in front of the partial rows is said by the planner.
  const Global<float, Workspace> base =
      global<float, Workspace>(arguments.workspace) + told_begin(i64{arguments.extent[2]});
  Global<float, InMatrix> from = base + sum_begin(which, partials, n);
  const i64 second = pieces_of(partials, kChain);
  Global<float, InMatrix> to = base + second_sum_begin(which, kSums, partials, second, n);
  for (i64 count = partials; count > 1;) {
    const i64 chains = pieces_of(count, kChain);
    for (Place<Row, i64> chain = row_of_group(group); chain < chains; chain += P.threads / 32)
      if (column < n) {
        float v[kChain];
        const i64 first = chain * kChain;  // written out: as chain_begin clang makes other code of it
        TK_UNROLL
        for (Counter r = 0; r < kChain; ++r) {
          v[r] = 0.0f;
          if (first + r < count) v[r] = from[matrix_place(chained_row(chain, r), n, column)];
        }
        float acc = 0.0f;
        TK_UNROLL
        for (int r = 0; r < kChain; ++r)
          if (first + r < count) acc = acc + v[r];
        to[matrix_place(chain, n, column)] = acc;
      }
    barrier();
    const Global<float, InMatrix> other = from;
    from = to;
    to = other;
    count = chains;
  }
  if (group == 0 && column < n) write_sum<P, P.sums>(arguments, which, column, from[in_first_row(column)]);
}

}  // namespace tokitai::device

// The segment pattern on SIMD lanes and threads. Queries are sorted by index (counting, stable), each row of the
// table is then summed in registers and written once, rows nobody asked for included.
#pragma once
#include <algorithm>
#include <atomic>

#include "contract/kernel_table.h"
#include "machines/cpu/copy.h"
#include "machines/cpu/plan.h"
#include "machines/cpu/pool.h"
#include "machines/cpu/segment_sum.h"
#include "patterns/names.h"
#include "patterns/segment.h"

namespace tokitai::cpu::TK_ISA {

template <class D, Type S> struct SegmentMachine : D::Names {
  const Call& call;
  Pool& pool;
  IndexRange range;
  Answer answer{};

  template <class O> bool flag(O) const { return call.option(O::index).i != 0; }

  template <class O, class W, class I, class P> void gather(O, W, I, P) {
    const View &y = call.operand(O::index), &weight = call.operand(W::index);
    const auto bytes = y.cols() * static_cast<std::int64_t>(size_of(S));
    const bool streamed = worth_streaming(y);
    const std::int64_t rows = unit_rows_ahead(y.rows(), y.cols(), pool.threads(), 512);
    pool.run((y.rows() + rows - 1) / rows, [&](std::int64_t unit, int) {
      const std::int64_t end = std::min(y.rows(), (unit + 1) * rows);
      const auto source = [&](std::int64_t i) -> const void* {
        const std::int64_t v = i < end ? range.at(i) : 0;
        return row_pointer(weight, range.padded(v) ? 0 : v);
      };
      const std::int64_t ahead = std::max<std::int64_t>(1, kCopyAhead / bytes);
      for (std::int64_t i = unit * rows; i < end; ++i)
        if (range.padded(range.at(i)))
          std::memset(row_pointer(y, i), 0, static_cast<std::size_t>(bytes));
        else
          copy_row(row_pointer(y, i), source(i), bytes, streamed, source(i + ahead));
    });
  }

  template <class O, class Y, class I, class P> void scatter_sum(O, Y, I, P, bool accumulate) {
    const View &dweight = call.operand(O::index), &dy = call.operand(Y::index);
    const std::int64_t vocab = dweight.rows(), queries = dy.rows(), dim = dy.cols();
    auto* memory =
        static_cast<std::int64_t*>(pool.shared_scratch().reserve(static_cast<std::size_t>(vocab + 2 + queries) * 8));
    if (memory == nullptr) {
      answer = {Answer::out_of_memory};
      return;
    }
    std::int64_t* order = memory + vocab + 2;
    // Counting sort: memory[v + 2] counts row v, then running totals make memory[v + 1] its next free place.
    std::fill_n(memory, vocab + 2, 0);
    for (std::int64_t i = 0; i < queries; ++i)
      if (const std::int64_t v = range.at(i); !range.padded(v)) ++memory[v + 2];
    std::int64_t most = 0;
    for (std::int64_t v = 0; v < vocab; ++v) {
      most = std::max(most, memory[v + 2]);
      if (S == Type::f16 && most > kMostOccurrences) {
        answer = {Answer::too_many, v};
        return;
      }
      memory[v + 2] += memory[v + 1];
    }
    for (std::int64_t i = 0; i < queries; ++i)
      if (const std::int64_t v = range.at(i); !range.padded(v)) order[memory[v + 1]++] = i;
    // The places have moved to the rows' ends: memory[v] is now row v's start.
    const Occurrences sorted{memory, order, memory[vocab]};

    const RowSum<S> sum{dy, dweight, order + sorted.count, accumulate, worth_streaming(dweight)};
    // Units of as many rows to read and write, wherever the occurrences are.
    const std::int64_t work = vocab + sorted.count;
    const std::int64_t unit_work = unit_rows_ahead(work, dim, pool.threads(), 2000);
    pool.run((work + unit_work - 1) / unit_work, [&](std::int64_t unit, int) {
      const std::int64_t end = sorted.row_at((unit + 1) * unit_work, vocab);
      for (std::int64_t v = sorted.row_at(unit * unit_work, vocab); v < end; ++v)
        if (sorted.start[v + 1] - sorted.start[v] < kHeavy) sum.row(sorted, v, 0, dim);
    });
    if (most < kHeavy) return;
    constexpr std::int64_t kLeast = (S == Type::f16 ? 8 : 4) * kWidth;
    constexpr std::int64_t kMost = S == Type::f16 ? RowSum<S>::kExactColumns : kLeast;
    const std::int64_t columns = std::clamp(dim / pool.threads() / kLeast * kLeast, kLeast, kMost);
    for (std::int64_t v = 0; v < vocab; ++v)
      if (sorted.start[v + 1] - sorted.start[v] >= kHeavy)
        pool.run((dim + columns - 1) / columns, [&](std::int64_t unit, int) {
          sum.row(sorted, v, unit * columns, std::min(dim, (unit + 1) * columns));
        });
  }
};

template <class D, Type S> Answer run_segment(const Call& call, Pool& pool) {
  SegmentMachine<D, S> m{{}, call, pool, IndexRange(call, describe(call))};
  constexpr std::int64_t kNone = INT64_MAX;
  const std::int64_t queries = m.range.index.rows();
  std::atomic<std::int64_t> bad{kNone};
  pool.run((queries + kUnitElements - 1) / kUnitElements, [&](std::int64_t unit, int) {
    const std::int64_t found = m.range.first_bad(unit * kUnitElements, std::min(queries, (unit + 1) * kUnitElements));
    if (found >= 0) offer_smallest(bad, found);
  });
  if (bad != kNone) return {Answer::refused, bad};
  D::segment(m);
  return m.answer;
}

}  // namespace tokitai::cpu::TK_ISA

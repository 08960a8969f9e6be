// The segment pattern on SIMD lanes and threads. Queries are sorted by index (counting, stable), each row of the
// table is then summed in registers and written once, rows nobody asked for included. f16 sums run in double,
// where up to 8192 terms are exact (2^16 * 2^24 * 2^13 = 2^53), and move to int64 beyond that.
#pragma once
#include <algorithm>
#include <atomic>

#include "machines/cpu/copy.h"
#include "machines/cpu/plan.h"
#include "machines/cpu/pool.h"
#include "patterns/column.h"
#include "patterns/names.h"
#include "patterns/segment.h"
#include "runtime/kernel_table.h"

namespace tokitai::cpu::TK_ISA {

inline constexpr std::int64_t kExactInDouble = 8192;
// Above this many occurrences a row is worked on by all threads, each with some of the columns.
inline constexpr std::int64_t kHeavy = 2048;

// Occurrences lie anywhere in memory, but are read in the order they are sorted in: the one this many places on is
// fetched meanwhile, column by column.
inline constexpr std::int64_t kFetchAhead = 8;

// The queries of each row of the table, in ascending order: those of row v are order[start[v] .. start[v+1]).
struct Occurrences {
  std::int64_t* start;  // [vocab + 1]
  std::int64_t* order;  // [count]
  std::int64_t count;

  // The first row of the table behind `work` rows and occurrences.
  std::int64_t row_at(std::int64_t work, std::int64_t vocab) const {
    std::int64_t low = 0, high = vocab;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (middle + start[middle] < work)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

template <Type S> struct RowSum {
  using Element = typename Memory<S>::Element;
  const View& dy;
  const View& dweight;
  const std::int64_t* occurrences_end;
  bool accumulate;
  bool streamed;

  const Element* in(std::int64_t row, std::int64_t col) const {
    return static_cast<const Element*>(dy.data) + row * dy.row_stride + col;
  }
  TK_FN Lanes read(std::int64_t row, std::int64_t col, std::int64_t count) const {
    return count == kWidth ? Memory<S>::widen(in(row, col)) : widen_first<S>(in(row, col), count);
  }
  // The sum in the output's type: storage (already rounded) or f32, possibly added to what is there.
  template <Type T>
  TK_FN void put(std::int64_t v, std::int64_t col, std::int64_t count, typename Memory<T>::Packed x) const {
    auto* to = static_cast<typename Memory<T>::Element*>(dweight.data) + v * dweight.row_stride + col;
    constexpr std::uintptr_t kAlignment = kWidth * sizeof(*to);
    if (count < kWidth)
      write_first<T>(to, x, count);
    else if (streamed && reinterpret_cast<std::uintptr_t>(to) % kAlignment == 0)
      Memory<T>::stream(to, x);
    else
      Memory<T>::write(to, x);
  }
  TK_FN void put_f32(std::int64_t v, std::int64_t col, std::int64_t count, Lanes sum) const {
    if (accumulate) {
      const auto* from = static_cast<const float*>(dweight.data) + v * dweight.row_stride + col;
      sum = (count == kWidth ? load(from) : widen_first<Type::f32>(from, count)) + sum;
    }
    put<Type::f32>(v, col, count, canonical(sum));
  }
  TK_FN void finish(std::int64_t v, std::int64_t col, std::int64_t count, Lanes sum) const {
    if (dweight.type == Type::f32)
      put_f32(v, col, count, sum);
    else
      put<S>(v, col, count, Memory<S>::narrow(sum));
  }

  // Exact f16 in any number: sums of up to 8192 terms are exact in double; between them int64 takes over. Sums
  // wait in the first-level cache, so that each occurrence is read once, in one piece.
  static constexpr std::int64_t kExactColumns = 512;
  void exact_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t col,
                     std::int64_t count) const {
    ExactSum sums[kExactColumns];
    alignas(64) double batch[kExactColumns + kWidth];
    for (std::int64_t first = 0; first < terms; first += kExactInDouble) {
      std::fill_n(batch, count, 0.0);
      for (std::int64_t r = first; r < std::min(terms, first + kExactInDouble); ++r) {
        if (r + 2 < terms) fetch(rows[r + 2], col, count);
        for (std::int64_t c = 0; c < count; c += kWidth)
          add_to(batch + c, read(rows[r], col + c, std::min<std::int64_t>(kWidth, count - c)));
      }
      for (std::int64_t c = 0; c < count; ++c) sums[c].add_exact(batch[c]);
    }
    if (dweight.type == Type::f32) {
      for (std::int64_t c = 0; c < count; c += kWidth) {
        alignas(64) float out[kWidth] = {};
        const std::int64_t width = std::min<std::int64_t>(kWidth, count - c);
        for (std::int64_t k = 0; k < width; ++k) out[k] = sums[c + k].to_f32();
        put_f32(v, col + c, width, load(out));
      }
      return;
    }
    auto* to = static_cast<std::uint16_t*>(dweight.data) + v * dweight.row_stride + col;
    for (std::int64_t c = 0; c < count; ++c) to[c] = sums[c].to_f16();
  }
  static TK_FN void add_to(double* sums, Lanes x) {
#if defined(__AVX2__)
    const hn::Half<FloatTag> half;
    const hn::RebindToFloat<hn::Rebind<std::int64_t, hn::Half<FloatTag>>> wide;
    hn::StoreU(hn::Add(hn::LoadU(wide, sums), hn::PromoteTo(wide, hn::LowerHalf(half, x.v))), wide, sums);
    hn::StoreU(hn::Add(hn::LoadU(wide, sums + kWidth / 2), hn::PromoteTo(wide, hn::UpperHalf(half, x.v))), wide,
               sums + kWidth / 2);
#else
    alignas(64) float values[kWidth];
    store(values, x);
    for (int k = 0; k < kWidth; ++k) sums[k] += static_cast<double>(values[k]);
#endif
  }
  TK_FN void fetch_ahead(const std::int64_t* occurrence, std::int64_t col, std::int64_t count) const {
    if (occurrences_end - occurrence > kFetchAhead) fetch(occurrence[kFetchAhead], col, count);
  }
  TK_FN void fetch(std::int64_t row, std::int64_t col, std::int64_t count) const {
    const auto* line = reinterpret_cast<const std::byte*>(in(row, col));
    for (std::int64_t i = 0; i < count * static_cast<std::int64_t>(sizeof(Element)); i += 64)
      __builtin_prefetch(line + i);
  }

#if defined(__AVX2__)
  // `registers` whole registers of columns, some cache lines of every row at a time, summed in double; twice as many
  // registers hold the sums.
  static constexpr int kTogether = HWY_TARGET == HWY_AVX3 ? 8 : 4;
  template <int registers>
  TK_FN void double_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t col) const {
    const hn::Half<FloatTag> half;
    const hn::RebindToFloat<hn::Rebind<std::int64_t, hn::Half<FloatTag>>> wide;
    hn::Vec<decltype(wide)> low[registers], high[registers];
    for (int k = 0; k < registers; ++k) low[k] = high[k] = hn::Zero(wide);
    for (std::int64_t r = 0; r < terms; ++r) {
      if constexpr (registers > 1) fetch_ahead(rows + r, col, registers * kWidth);
      for (int k = 0; k < registers; ++k) {
        const auto x = Memory<S>::widen(in(rows[r], col + k * kWidth)).v;
        low[k] = hn::Add(low[k], hn::PromoteTo(wide, hn::LowerHalf(half, x)));
        high[k] = hn::Add(high[k], hn::PromoteTo(wide, hn::UpperHalf(half, x)));
      }
    }
    // To odd in 24 bits first, so that the narrowing that follows is the only rounding.
    const hn::RebindToUnsigned<decltype(wide)> u;
    const auto to_odd = [&](auto sum) {
      const auto raw = hn::BitCast(u, sum);
      const auto dropped = hn::Set(u, (std::uint64_t{1} << 29) - 1);
      const auto sticky =
          hn::IfThenElse(hn::Eq(hn::And(raw, dropped), hn::Zero(u)), hn::Zero(u), hn::Set(u, std::uint64_t{1} << 29));
      return hn::DemoteTo(half, hn::BitCast(wide, hn::Or(hn::AndNot(dropped, raw), sticky)));
    };
    for (int k = 0; k < registers; ++k) {
      const std::int64_t c = col + k * kWidth;
      if (dweight.type == Type::f32)
        put_f32(v, c, kWidth, hn::Combine(FloatTag(), hn::DemoteTo(half, high[k]), hn::DemoteTo(half, low[k])));
      else
        put<S>(v, c, kWidth, Memory<S>::narrow(hn::Combine(FloatTag(), to_odd(high[k]), to_odd(low[k]))));
    }
  }
#endif

#if defined(__AVX2__)
  // A few f16 values nearly always have an exact sum in f32, for half the instructions: it is exact where both terms
  // come back from it. Where one is not, nothing is written.
  static constexpr std::int64_t kFew = 4;
  template <int registers>
  TK_FN bool single_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t col) const {
    Lanes sum[registers];
    Mask exact{hn::FirstN(FloatTag(), kWidth)};
    fetch_ahead(rows, col, registers * kWidth);
    for (int k = 0; k < registers; ++k) sum[k] = Lanes(0.0f) + Memory<S>::widen(in(rows[0], col + k * kWidth));
    for (std::int64_t r = 1; r < terms; ++r) {
      fetch_ahead(rows + r, col, registers * kWidth);
      for (int k = 0; k < registers; ++k) {
        const Lanes x = Memory<S>::widen(in(rows[r], col + k * kWidth)), both = sum[k] + x;
        exact = {hn::And(exact.m, hn::And((both - x == sum[k]).m, (both - sum[k] == x).m))};
        sum[k] = both;
      }
    }
    if (!hn::AllTrue(FloatTag(), exact.m)) return false;
    for (int k = 0; k < registers; ++k) finish(v, col + k * kWidth, kWidth, sum[k]);
    return true;
  }
#endif

  // f16 to f16, nothing to add: +0, or the one gradient with its zeros made +0.
  TK_FN std::int64_t copied_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t c,
                                    std::int64_t end) const {
    if (dweight.type != S) return c;
    auto* to = static_cast<Element*>(dweight.data) + v * dweight.row_stride;
    const bool aligned = streamed && reinterpret_cast<std::uintptr_t>(to + c) % (kWidth * sizeof(Element)) == 0;
    const auto loop = [&](auto write) {
      for (; c + 4 * kWidth <= end; c += 4 * kWidth) {
        if (terms == 1) fetch_ahead(rows, c, 4 * kWidth);
        for (int u = 0; u < 4; ++u) {
          const std::int64_t at = c + u * kWidth;
          write(to + at, Memory<S>::narrow(terms == 0 ? Lanes(0.0f) : Lanes(0.0f) + Memory<S>::widen(in(rows[0], at))));
        }
      }
    };
    if (aligned)
      loop([](Element* p, typename Memory<S>::Packed x) { Memory<S>::stream(p, x); });
    else
      loop([](Element* p, typename Memory<S>::Packed x) { Memory<S>::write(p, x); });
    return c;
  }

  // Columns [begin, end) of one row of the table from its occurrences.
  TK_FN void columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t begin,
                     std::int64_t end) const {
    std::int64_t c = begin;
    if constexpr (S == Type::f16) {
      if (terms <= 1) {
        for (c = copied_columns(rows, terms, v, c, end); c < end; c += kWidth) {
          const std::int64_t count = std::min<std::int64_t>(kWidth, end - c);
          finish(v, c, count, terms == 0 ? Lanes(0.0f) : Lanes(0.0f) + read(rows[0], c, count));
        }
        return;
      }
#if defined(__AVX2__)
      if (terms < kHeavy) {
        for (; c + kTogether * kWidth <= end; c += kTogether * kWidth)
          if (terms > kFew || !single_columns<kTogether>(rows, terms, v, c))
            double_columns<kTogether>(rows, terms, v, c);
        for (; c + kWidth <= end; c += kWidth) double_columns<1>(rows, terms, v, c);
      }
#endif
      for (; c < end; c += kExactColumns) exact_columns(rows, terms, v, c, std::min(kExactColumns, end - c));
    } else {
      for (; c < end; c += kWidth) {
        const std::int64_t count = std::min<std::int64_t>(kWidth, end - c);
        finish(v, c, count, chain(rows, terms, c, count));
      }
    }
  }

  // The column rule over the occurrences. Level l holds the chain of 32^l terms in the making; a chain that is
  // complete, or the last one, joins the level above. (A chain never holds -0, so starting the top level from +0
  // with a single value changes no bit.)
  TK_FN Lanes chain(const std::int64_t* rows, std::int64_t terms, std::int64_t col, std::int64_t count) const {
    constexpr int kLevels = 13;  // 32^13 > 2^63
    Lanes level[kLevels];
    std::int64_t filled[kLevels] = {};
    int top = 0;
    level[0] = 0.0f;
    const auto join = [&](int l, Lanes value) {
      level[l] = (filled[l] == 0 ? Lanes(0.0f) : level[l]) + value;
      top = std::max(top, l);
      return ++filled[l] == kChain;
    };
    for (std::int64_t r = 0; r < terms; ++r) {
      bool complete = join(0, read(rows[r], col, count));
      for (int l = 0; complete; ++l) {
        filled[l] = 0;
        complete = join(l + 1, level[l]);
      }
    }
    for (int l = 0; l < top; ++l)
      if (filled[l] != 0) join(l + 1, level[l]);
    return level[top];
  }

  __attribute__((flatten)) void row(const Occurrences& at, std::int64_t v, std::int64_t begin, std::int64_t end) const {
    const std::int64_t* rows = at.order + at.start[v];
    const std::int64_t terms = at.start[v + 1] - at.start[v];
    columns(rows, terms, v, begin, end);
  }
};

template <class D, Type S> struct SegmentMachine : D::Names {
  const Call& call;
  Pool& pool;
  IndexRange range;
  Answer answer{};

  template <class O> bool flag(O) const { return call.option(O::index).i != 0; }

  template <class O, class W> void gather(O, W) {
    const View &y = call.operand(O::index), &weight = call.operand(W::index);
    const auto bytes = y.cols() * static_cast<std::int64_t>(size_of(S));
    const bool streamed = worth_streaming(y);
    const std::int64_t rows = unit_rows_ahead(y.rows(), y.cols(), pool.threads(), 64);
    pool.run((y.rows() + rows - 1) / rows, [&](std::int64_t unit, int) {
      const std::int64_t end = std::min(y.rows(), (unit + 1) * rows);
      const auto source = [&](std::int64_t i) -> const void* {
        const std::int64_t v = i < end ? range.at(i) : 0;
        return row_pointer(weight, range.padded(v) ? 0 : v);
      };
      for (std::int64_t i = unit * rows; i < end; ++i)
        if (range.padded(range.at(i)))
          std::memset(row_pointer(y, i), 0, static_cast<std::size_t>(bytes));
        else
          copy_row(row_pointer(y, i), source(i), bytes, streamed, source(i + 1));
    });
  }

  template <class O, class Y> void scatter_sum(O, Y, bool accumulate) {
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
    std::int64_t most = 0, first_most = 0;
    for (std::int64_t v = 0; v < vocab; ++v) {
      if (memory[v + 2] > most) most = memory[v + 2], first_most = v;
      memory[v + 2] += memory[v + 1];
    }
    if (S == Type::f16 && most > kMostOccurrences) {
      answer = {Answer::too_many, first_most};
      return;
    }
    for (std::int64_t i = 0; i < queries; ++i)
      if (const std::int64_t v = range.at(i); !range.padded(v)) order[memory[v + 1]++] = i;
    // The places have moved to the rows' ends: memory[v] is now row v's start.
    const Occurrences sorted{memory, order, memory[vocab]};

    const RowSum<S> sum{dy, dweight, order + sorted.count, accumulate, worth_streaming(dweight)};
    // Units of as many rows to read and write, wherever the occurrences are.
    const std::int64_t work = vocab + sorted.count;
    const std::int64_t unit_work = unit_rows_ahead(work, dim, pool.threads(), 100);
    pool.run((work + unit_work - 1) / unit_work, [&](std::int64_t unit, int) {
      const std::int64_t end = sorted.row_at((unit + 1) * unit_work, vocab);
      for (std::int64_t v = sorted.row_at(unit * unit_work, vocab); v < end; ++v)
        if (sorted.start[v + 1] - sorted.start[v] < kHeavy) sum.row(sorted, v, 0, dim);
    });
    if (most < kHeavy) return;
    constexpr std::int64_t kColumns = S == Type::f16 ? RowSum<S>::kExactColumns : 4 * kWidth;
    for (std::int64_t v = 0; v < vocab; ++v)
      if (sorted.start[v + 1] - sorted.start[v] >= kHeavy)
        pool.run((dim + kColumns - 1) / kColumns, [&](std::int64_t unit, int) {
          sum.row(sorted, v, unit * kColumns, std::min(dim, (unit + 1) * kColumns));
        });
  }
};

template <class D, Type S> Answer run_segment(const Call& call, Pool& pool) {
  SegmentMachine<D, S> m{{}, call, pool, IndexRange(call)};
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

// The row pattern on SIMD lanes and threads. A row is converted to f32 once, into a buffer that stays in the
// first- or second-level cache; reductions keep their chains in registers; outputs larger than the cache are
// streamed past it. The order of every chain is the canonical one (patterns/reduction.h).
#pragma once
#include <algorithm>
#include <array>

#include "contract/build.h"
#include "machines/cpu/fold.h"
#include "machines/cpu/plan.h"
#include "machines/cpu/pool.h"
#include "patterns/column.h"
#include "patterns/names.h"

namespace tokitai::cpu::TK_ISA {

// Elements [at, at + kWidth) of a row.
struct Span {
  std::int64_t at;
};

// A row on chip, as f32; whole registers may be read past its end (kRowPadding).
struct Values {
  float* p;
  TK_FN Lanes operator[](Span i) const { return load(p + i.at); }
  TK_FN Lanes keep(Span i, Lanes v) const {
    store(p + i.at, v);
    return v;
  }
};

template <class D, Type S> struct RowMachine : D::Names {
  using Element = typename Memory<S>::Element;

  const Call& call;
  std::int64_t n, row = 0;
  float* free_buffer;  // the next row buffer not taken yet
  std::array<float*, kMaxOperands> buffer{};
  std::array<bool, kMaxOperands> columns_loaded{};
  std::array<float*, kMaxOperands> column_chain{};  // the chains of 32 rows in the making
  std::array<bool, kMaxOperands> streamed{};
  // The next row of what this one loaded, fetched line by line while this one is worked on: without it memory
  // idles during the reductions, and the processor during the loads (a third of the time on one core).
  struct Ahead {
    const std::byte* line = nullptr;
    const std::byte* end = nullptr;
  };
  mutable Ahead ahead[2];

  RowMachine(const Call& c, void* scratch) : call(c), n(c.operand(0).cols()), free_buffer(static_cast<float*>(scratch)) {
    for (std::size_t i = 0; i < kMaxOperands; ++i) streamed[i] = worth_streaming(call.operands[i]);
  }

  float cols() const { return static_cast<float>(n); }
  std::int64_t width() const { return n; }
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <int I> bool has(IntegerOption<I>) const { return call.option(I).set; }
  template <class O> float number(O) const { return static_cast<const float*>(call.operand(O::index).data)[row]; }
  template <class O> std::int64_t integer(O) const {
    const View& v = call.operand(O::index);
    return v.type == Type::i32 ? static_cast<const std::int32_t*>(v.data)[row] : static_cast<const std::int64_t*>(v.data)[row];
  }

  TK_FN float* take(int operand) {
    float*& p = buffer[static_cast<std::size_t>(operand)];
    if (p == nullptr) {
      p = free_buffer;
      free_buffer += row_buffer_bytes(n) / 4;
    }
    return p;
  }
  TK_FN void widen_row(const Element* from, float* to) const {
    const std::int64_t end = n;  // a copy: the stores below could alias the member
    std::int64_t i = 0;
    for (; i + 4 * kWidth <= end; i += 4 * kWidth)
      for (int u = 0; u < 4; ++u) cpu::TK_ISA::store(to + i + u * kWidth, Memory<S>::widen(from + i + u * kWidth));
    for (; i + kWidth <= end; i += kWidth) cpu::TK_ISA::store(to + i, Memory<S>::widen(from + i));
    if (i < end) cpu::TK_ISA::store(to + i, widen_first<S>(from + i, end - i));
  }
  template <int I> TK_FN Values load(Storage<I>) {
    const View& v = call.operand(I);
    float* p = take(I);
    const Element* from = static_cast<const Element*>(v.data) + row * v.row_stride;
    widen_row(from, p);
    const bool last = row + 1 == v.shape[0];
    const auto* next = reinterpret_cast<const std::byte*>(from + v.row_stride);
    ahead[I % 2] = last ? Ahead{} : Ahead{next, next + n * static_cast<std::int64_t>(sizeof(Element))};
    return {p};
  }
  TK_FN void fetch_ahead() const {
    for (Ahead& a : ahead) {
      if (a.line >= a.end) continue;
      __builtin_prefetch(a.line);
      a.line += 64;
    }
  }
  // A row on chip that is not loaded but made; it borrows the buffer of an output, which needs none.
  template <int I> TK_FN Values make(Storage<I>) { return {take(I)}; }
  template <int I> TK_FN Values columns(Storage<I>) {  // once per thread and call
    float* p = take(I);
    if (!columns_loaded[I]) widen_row(static_cast<const Element*>(call.operand(I).data), p);
    columns_loaded[I] = true;
    return {p};
  }

  // One block's lane chains for every term in one pass, four registers at a time.
  template <class... Term> TK_FN void block_values(std::int64_t block, float* out, const Term&... term) const {
    constexpr int kTerms = sizeof...(Term);
    constexpr int kStep = 4 * kWidth;
    constexpr int kFolded = kLanes / kWidth;
    alignas(64) float folded[kTerms][kFolded];
    const std::int64_t length = std::min<std::int64_t>(kBlock, n - block);
    for (int lane = 0; lane < kLanes; lane += kStep) {
      Lanes acc[kTerms][4];
      int t = 0;
      ((acc[t][0] = acc[t][1] = acc[t][2] = acc[t][3] = Lanes(Term::identity), ++t), ...);
      // Chunks in which all four registers are inside the row; only the next one can be cut by its end.
      const std::int64_t whole = length < lane + kStep ? 0 : std::min<std::int64_t>(kChunks, (length - lane - kStep) / kLanes + 1);
      for (std::int64_t chunk = 0; chunk < whole; ++chunk) {
        fetch_ahead();
        for (int u = 0; u < 4; ++u) {
          const Span i{block + chunk * kLanes + lane + u * kWidth};
          t = 0;
          ((acc[t][u] = term.step(acc[t][u], i), ++t), ...);
        }
      }
      if (whole < kChunks) {
        for (int u = 0; u < 4; ++u) {
          const std::int64_t left = length - (whole * kLanes + lane + u * kWidth);
          if (left <= 0) break;
          const Span i{block + whole * kLanes + lane + u * kWidth};
          t = 0;
          ((acc[t][u] = left >= kWidth ? term.step(acc[t][u], i)
                                       : select(first_lanes(left), term.step(acc[t][u], i), acc[t][u]),
            ++t),
           ...);
        }
      }
      t = 0;
      ((fold4<Term>(acc[t], folded[t] + lane / kWidth), ++t), ...);
    }
    int t = 0;
    ((out[t] = fold_all<Term>(folded[t]), ++t), ...);
  }
  template <class... Term> TK_FN Reduced<float, sizeof...(Term)> reduce(const Term&... term) const {
    constexpr int kTerms = sizeof...(Term);
    float total[kTerms];
    block_values(0, total, term...);
    for (std::int64_t block = kBlock; block < n; block += kBlock) {
      float next[kTerms];
      block_values(block, next, term...);
      int t = 0;
      ((total[t] = Term::join(total[t], next[t]), ++t), ...);
    }
    int t = 0;
    return {(static_cast<void>(sizeof(Term)), total[t++])...};
  }
  template <class F> TK_FN float sum(F f) const { return reduce(Sum{f}).first; }
  template <class F> TK_FN float sum_fma(F f) const { return reduce(SumFma{f}).first; }
  template <class F> TK_FN float max(F f) const { return reduce(Max{f}).first; }

  TK_FN float pick(Values x, std::int64_t j) const { return j >= 0 && j < n ? x.p[j] : 0.0f; }
  TK_FN Mask at(Span i, std::int64_t j) const { return lane_is(j - i.at); }

  template <int I, class F> TK_FN void store(Storage<I>, F f) const {
    const View& v = call.operand(I);
    Element* to = static_cast<Element*>(v.data) + row * v.row_stride;
    const std::int64_t end = n;
    std::int64_t i = 0;
    if (streamed[I]) {
      constexpr std::uintptr_t kAlignment = kWidth * sizeof(Element);
      const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(to) % kAlignment;
      const auto head = static_cast<std::int64_t>((kAlignment - over) % kAlignment / sizeof(Element));
      if (head > 0) {
        i = std::min(head, end);
        write_first<S>(to, Memory<S>::narrow(f(Span{0})), i);
      }
      i = whole_registers(i, end, [&](std::int64_t at) { Memory<S>::stream(to + at, Memory<S>::narrow(f(Span{at}))); });
    } else {
      i = whole_registers(i, end, [&](std::int64_t at) { Memory<S>::write(to + at, Memory<S>::narrow(f(Span{at}))); });
    }
    if (i < end) write_first<S>(to + i, Memory<S>::narrow(f(Span{i})), end - i);
  }
  // Four registers a turn: the loop's own instructions were a tenth of the time.
  template <class F> static TK_FN std::int64_t whole_registers(std::int64_t i, std::int64_t end, F step) {
    for (; i + 4 * kWidth <= end; i += 4 * kWidth)
      for (int u = 0; u < 4; ++u) step(i + u * kWidth);
    for (; i + kWidth <= end; i += kWidth) step(i);
    return i;
  }
  template <int I> TK_FN void put(Single<I>, float v) const { static_cast<float*>(call.operand(I).data)[row] = canonical(v); }

  template <class O, class F> TK_FN void column_sum(O, F f) { chain_columns(O::index, Sum{f}); }
  template <class O, class F> TK_FN void column_sum_fma(O, F f) { chain_columns(O::index, SumFma{f}); }
  template <class Term> TK_FN void chain_columns(int operand, const Term& term) {
    float* chain = column_chain[static_cast<std::size_t>(operand)];
    const std::int64_t end = n;
    for (std::int64_t i = 0; i < end; i += kWidth)
      cpu::TK_ISA::store(chain + i, term.step(cpu::TK_ISA::load(chain + i), Span{i}));
  }

  // After every row.
  template <int I> float total(Single<I>) {
    return column_total(static_cast<const float*>(call.operand(I).data), call.operand(0).rows(), free_buffer);
  }
  template <class F> std::int64_t count_rows(F counted) {
    std::int64_t count = 0;
    for (row = 0; row < call.operand(0).rows(); ++row) count += counted(*this) ? 1 : 0;
    return count;
  }
  template <int I> void put_once(Single<I>, float v) const {
    if (call.operand(I).present()) *static_cast<float*>(call.operand(I).data) = canonical(v);
  }
  template <int I> void put_once(Integer<I>, std::int64_t v) const {
    if (call.operand(I).present()) *static_cast<std::int64_t*>(call.operand(I).data) = v;
  }
};

}  // namespace tokitai::cpu::TK_ISA

// The row pattern on SIMD lanes and threads. A row is read where it lies, and stays in the first- or second-level cache
// with what is made of it; reductions keep their chains in registers; outputs larger than the cache are streamed past
// it. The order of every chain is the canonical one (patterns/reduction.h).
#pragma once
#include <algorithm>
#include <array>

#include "contract/workspace.h"
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

// The first `count` of them: the end of a row.
struct Part {
  std::int64_t at, count;
};

// A row on chip, as f32; whole registers may be read past its end (kRowPadding).
struct Values {
  float* p;
  template <class I> TK_FN Lanes operator[](I i) const { return load(p + i.at); }
  template <class I> TK_FN Lanes keep(I i, Lanes v) const {
    store(p + i.at, v);
    return v;
  }
};

// A row where it lies, in its storage type, widened at each use: half the cache, for rows used two or three times.
template <Type S> struct Stored {
  const typename Memory<S>::Element* p;
  TK_FN Lanes operator[](Span i) const { return Memory<S>::widen(p + i.at); }
  TK_FN Lanes operator[](Part i) const { return widen_first<S>(p + i.at, i.count); }
};

// How many registers of each term's chains are worked on together: as many as stay in registers. Where that is all
// 256 lanes, a row is read from its begin to its end.
constexpr int chains_together(int terms) {
  if (HWY_TARGET == HWY_AVX3) return terms == 1 ? 16 : 4;
  return 4;
}

template <class D, Type S> struct RowMachine : D::Names {
  using Element = typename Memory<S>::Element;

  const Call& call;
  std::int64_t n, row = 0, unit_end = 0, rows_counted = 0;
  float* free_buffer;  // the next row buffer not taken yet
  std::array<float*, kMaxOperands> buffer{};
  std::array<bool, kMaxOperands> columns_loaded{};
  std::array<float*, kMaxOperands> column_chain{};  // the chains of 32 rows in the making
  std::array<bool, kMaxOperands> streamed{};
  // The next row of what this one loaded, fetched line by line while this one is worked on: half of it in each
  // reduction, the rest while it is stored. Arithmetic and memory then do not take turns.
  struct Ahead {
    const std::byte* line = nullptr;
    const std::byte* end = nullptr;
  };
  mutable std::array<Ahead, 2> ahead{};
  std::size_t loaded = 0;  // operands loaded for this row; a third is left to the hardware

  RowMachine(const Call& c, void* scratch)
      : call(c), n(c.operand(0).cols()), free_buffer(static_cast<float*>(scratch)) {
    for (std::size_t i = 0; i < kMaxOperands; ++i) streamed[i] = worth_streaming(call.operands[i]);
  }

  float cols() const { return static_cast<float>(n); }
  std::int64_t width() const { return n; }
  std::int64_t counted() const { return rows_counted; }
  template <int I> float value(Scalar<I>) const { return call.scalars[I]; }
  template <int I> std::int64_t value(IntegerOption<I>) const { return call.option(I).i; }
  template <int I> bool has(IntegerOption<I>) const { return call.option(I).set; }
  template <class O> float number(O) const { return static_cast<const float*>(call.operand(O::index).data)[row]; }
  template <class O> std::int64_t integer(O) const {
    const View& v = call.operand(O::index);
    return v.type == Type::i32 ? static_cast<const std::int32_t*>(v.data)[row]
                               : static_cast<const std::int64_t*>(v.data)[row];
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
  // Where widening is an instruction, reading a row again costs less than keeping it in f32: half the cache.
  template <int I> TK_FN auto load(Storage<I> operand) {
    if constexpr (Memory<S>::kOneInstruction) {
      return read(operand);
    } else {
      float* p = take(I);
      widen_row(read(operand).p, p);
      return Values{p};
    }
  }
  template <int I> TK_FN Stored<S> read(Storage<I>) {
    const View& v = call.operand(I);
    const Element* from = static_cast<const Element*>(v.data) + row * v.row_stride;
    const bool last = row + 1 == unit_end || !streamed[I];
    const auto* next = reinterpret_cast<const std::byte*>(from + v.row_stride);
    if (loaded < ahead.size())
      ahead[loaded++] = last ? Ahead{} : Ahead{next, next + n * static_cast<std::int64_t>(sizeof(Element))};
    return {from};
  }
  // The lines of the next rows that `elements` of this one stand for.
  TK_FN void fetch_ahead(std::int64_t elements) const {
    for (Ahead& a : ahead)
      for (std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(Element)); a.line < a.end && bytes > 0;
           bytes -= 64, a.line += 64)
        __builtin_prefetch(a.line, 0, 2);
  }
  // A row on chip that is not loaded but made; it borrows the buffer of an output, which needs none.
  template <int I> TK_FN Values make(Storage<I>) { return {take(I)}; }
  template <int I> TK_FN Values columns(Storage<I>) {  // once per thread and call
    float* p = take(I);
    if (!columns_loaded[I]) widen_row(static_cast<const Element*>(call.operand(I).data), p);
    columns_loaded[I] = true;
    return {p};
  }

  // One block's lane chains for every term in one pass, kTogether registers of each term at a time: as many as stay
  // in registers.
  template <class... Term> TK_FN void block_values(std::int64_t block, float* out, const Term&... term) const {
    constexpr int kTerms = sizeof...(Term);
    constexpr int kTogether = chains_together(kTerms);
    constexpr int kStep = kTogether * kWidth;
    Quad folded[kTerms][kQuads];
    const std::int64_t length = std::min<std::int64_t>(kBlock, n - block);
    for (int lane = 0; lane < kLanes; lane += kStep) {
      Lanes acc[kTerms][kTogether];
      int t = 0;
      for (int u = 0; u < kTogether; ++u) {
        t = 0;
        ((acc[t][u] = Lanes(Term::identity), ++t), ...);
      }
      // Chunks in which all registers are inside the row; only the next one can be cut by its end.
      const std::int64_t whole =
          length < lane + kStep ? 0 : std::min<std::int64_t>(kChunks, (length - lane - kStep) / kLanes + 1);
#pragma GCC unroll 1
      for (std::int64_t chunk = 0; chunk < whole; ++chunk) {
        fetch_ahead(kStep / 2);
#pragma GCC unroll 16
        for (int u = 0; u < kTogether; ++u) {
          const Span i{block + chunk * kLanes + lane + u * kWidth};
          t = 0;
          ((acc[t][u] = term.step(acc[t][u], i), ++t), ...);
        }
      }
      if (whole < kChunks && length > whole * kLanes + lane) {
        Lanes cut[kTerms][kTogether];  // in memory, so that one text serves every register
        std::memcpy(cut, acc, sizeof(cut));
#pragma GCC unroll 1
        for (int u = 0; u < kTogether; ++u) {
          const std::int64_t left = length - (whole * kLanes + lane + u * kWidth);
          if (left <= 0) break;
          const std::int64_t at = block + whole * kLanes + lane + u * kWidth;
          t = 0;
          if (left >= kWidth)
            ((cut[t][u] = term.step(cut[t][u], Span{at}), ++t), ...);
          else
            ((cut[t][u] = select(first_lanes(left), term.step(cut[t][u], Part{at, left}), cut[t][u]), ++t), ...);
        }
        std::memcpy(acc, cut, sizeof(cut));
      }
      for (int u = 0; u < kTogether; u += 4) {
        t = 0;
        ((folded[t][(lane / kWidth + u) / 4] = fold4<Term>(acc[t] + u), ++t), ...);
      }
    }
    int t = 0;
    ((out[t] = fold_all<Term>(folded[t]), ++t), ...);
  }
  template <class... Term> TK_FN Reduced<float, sizeof...(Term)> reduce(const Term&... term) const {
    constexpr int kTerms = sizeof...(Term);
    float total[kTerms] = {};
    for (std::int64_t block = 0; block < n; block += kBlock) {
      float next[kTerms];
      block_values(block, next, term...);
      int t = 0;
      ((total[t] = block == 0 ? next[t] : Term::join(total[t], next[t]), ++t), ...);
    }
    int t = 0;
    return {(static_cast<void>(sizeof(Term)), total[t++])...};
  }
  template <class F> TK_FN float sum(F f) const { return reduce(Sum{f}).first; }
  template <class F> TK_FN float sum_fma(F f) const { return reduce(SumFma{f}).first; }
  template <class F> TK_FN float max(F f) const { return reduce(Max{f}).first; }

  TK_FN float pick(Stored<S> x, std::int64_t j) const {
    if (j < 0 || j >= n) return 0.0f;
    alignas(64) float value[kWidth];
    cpu::TK_ISA::store(value, x[Part{j, 1}]);
    return value[0];
  }

  template <int I, class F> TK_FN void store(Storage<I> out, F f) const { store_but(out, -1, f, f); }
  // Everywhere f, in column j g: only the four registers around the column ask which it is.
  template <int I, class F, class G> TK_FN void store_but(Storage<I>, std::int64_t j, G g, F f) const {
    const auto either = [&](auto i) { return select(lane_is(j - i.at), Lanes(g(i)), Lanes(f(i))); };
    if (streamed[I])
      store_as<I, true>(j, either, f);
    else
      store_as<I, false>(j, either, f);
  }
  template <int I, bool stream, class F, class E> TK_FN void store_as(std::int64_t j, E either, F f) const {
    const View& v = call.operand(I);
    Element* to = static_cast<Element*>(v.data) + row * v.row_stride;
    const std::int64_t end = n;
    std::int64_t i = 0;
    if constexpr (stream) {
      constexpr std::uintptr_t kAlignment = kWidth * sizeof(Element);
      const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(to) % kAlignment;
      const auto head = static_cast<std::int64_t>((kAlignment - over) % kAlignment / sizeof(Element));
      if (head > 0) {
        i = std::min(head, end);
        write_first<S>(to, Memory<S>::narrow(either(Part{0, i})), i);
      }
    }
    const auto put_register = [&](std::int64_t at, typename Memory<S>::Packed value) {
      if constexpr (stream)
        Memory<S>::stream(to + at, value);
      else
        Memory<S>::write(to + at, value);
    };
    // Four registers a turn, so that the loop's own instructions weigh less.
    for (; i + 4 * kWidth <= end; i += 4 * kWidth) {
      if constexpr (stream) fetch_ahead(4 * kWidth);
      Lanes value[4];
      if (static_cast<std::uint64_t>(j - i) < 4 * kWidth)
        for (int u = 0; u < 4; ++u) value[u] = either(Span{i + u * kWidth});
      else
        for (int u = 0; u < 4; ++u) value[u] = f(Span{i + u * kWidth});
      canonical_all(value);
      for (int u = 0; u < 4; ++u) put_register(i + u * kWidth, Memory<S>::round(value[u]));
    }
    for (; i + kWidth <= end; i += kWidth) put_register(i, Memory<S>::narrow(either(Span{i})));
    if (i < end) write_first<S>(to + i, Memory<S>::narrow(either(Part{i, end - i})), end - i);
  }
  template <int I> TK_FN void put(Single<I>, float v) const {
    static_cast<float*>(call.operand(I).data)[row] = canonical(v);
  }

  // Sums over rows: any number of outputs, each followed by its term, in one pass over the columns. One that is absent
  // is not summed; only where there is such a one is it asked for each register.
  template <class... OutputsAndTerms> TK_FN void column_sums(const OutputsAndTerms&... sums) {
    float* chains[sizeof...(OutputsAndTerms) / 2];  // copies: the stores below could alias the members
    if (find_chains(chains, sums...))
      chain_columns<false>(chains, sums...);
    else
      chain_columns<true>(chains, sums...);
  }
  template <class O, class Term, class... More>
  TK_FN bool find_chains(float** chains, O, const Term&, const More&... more) const {
    *chains = column_chain[O::index];
    if constexpr (sizeof...(More) == 0)
      return *chains != nullptr;
    else
      return find_chains(chains + 1, more...) && *chains != nullptr;
  }
  template <bool ask, class... OutputsAndTerms>
  TK_FN void chain_columns(float* const* chains, const OutputsAndTerms&... sums) const {
    const std::int64_t end = n;
    std::int64_t i = 0;
    for (; i + kWidth <= end; i += kWidth) chain_step<ask>(chains, Span{i}, sums...);
    if (i < end) chain_step<ask>(chains, Part{i, end - i}, sums...);
  }
  template <bool ask, class I, class O, class Term, class... More>
  TK_FN void chain_step(float* const* chains, I i, O, const Term& term, const More&... more) const {
    float* p = *chains + i.at;
    if (!ask || *chains != nullptr) cpu::TK_ISA::store(p, term.step(cpu::TK_ISA::load(p), i));
    if constexpr (sizeof...(More) > 0) chain_step<ask>(chains + 1, i, more...);
  }

  // After every row.
  template <int I> float total(Single<I>) {
    return column_total(static_cast<const float*>(call.operand(I).data), call.operand(0).rows(), free_buffer);
  }
  template <int I> void put_once(Single<I>, float v) const {
    if (call.operand(I).present()) *static_cast<float*>(call.operand(I).data) = canonical(v);
  }
  template <int I> void put_once(Integer<I>, std::int64_t v) const {
    if (call.operand(I).present()) *static_cast<std::int64_t*>(call.operand(I).data) = v;
  }
};

}  // namespace tokitai::cpu::TK_ISA

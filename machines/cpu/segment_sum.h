// How the segment pattern adds up one row of the table on SIMD lanes. f16 sums run in double, where up to 8192 terms
// are exact (2^16 * 2^24 * 2^13 = 2^53), and move to int64 beyond that; other sums follow the column rule.
#pragma once
#include <algorithm>

#include "machines/cpu/lanes.h"
#include "patterns/column.h"
#include "patterns/segment.h"

namespace tokitai::cpu::TK_ISA {

inline constexpr std::int64_t kExactInDouble = 8192;
// Above this many occurrences a row is worked on by all threads, each with some of the columns.
inline constexpr std::int64_t kHeavy = 2048;

// Occurrences lie anywhere in memory, but are read in the order they are sorted in: the one this many places on is
// fetched meanwhile, column by column, to the second-level cache, which can wait for more at once than the first.
inline constexpr std::int64_t kFetchAhead = 8;

#if defined(__AVX2__)
// What the processor notes about the arithmetic since this was made: whether a result was rounded.
class Rounding {
 public:
  TK_FN Rounding() { _mm_setcsr(_mm_getcsr() & ~unsigned{_MM_EXCEPT_INEXACT}); }
  TK_FN bool happened() const { return (_mm_getcsr() & _MM_EXCEPT_INEXACT) != 0; }
  // The compiler knows of no order between arithmetic and the notes: what makes or uses this value stays on its side.
  static TK_FN void keep_order(Lanes& x) { asm volatile("" : "+v"(x.v.raw)); }
};
// Whether this processor takes notes: not all that are imitated in software do.
TK_FN bool rounding_is_noted() {
  Lanes x = 1.0f;
  const Rounding rounding;
  Rounding::keep_order(x);
  x = x + Lanes(0x1p-30f);
  Rounding::keep_order(x);
  return rounding.happened();
}
#endif

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

  static constexpr std::int64_t kFew = 8;  // terms that are worth an attempt to add them up in f32
#if defined(__AVX2__)
  bool attempts = rounding_is_noted();
#endif

  // Exact f16 in any number: sums of up to 8192 terms are exact in double; between them int64 takes over. Sums
  // wait in the first-level cache, so that each occurrence is read once, in one piece.
  static constexpr std::int64_t kExactColumns = 512;
  void exact_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t col,
                     std::int64_t count) const {
    ExactSum sums[kExactColumns];
    alignas(64) double batch[kExactColumns + kWidth];
    for (std::int64_t first = 0; first < terms; first += kExactInDouble) {
      std::fill_n(batch, count, 0.0);
      const std::int64_t end = std::min(terms, first + kExactInDouble);
      for (std::int64_t r = first; r < end; r += kFew) {
        const std::int64_t few = std::min(kFew, end - r);
        std::int64_t c = 0;
#if defined(__AVX2__)
        for (; c + kTogether * kWidth <= count; c += kTogether * kWidth)
          add_group<kTogether>(rows + r, few, col + c, [&](int k, Lanes x) { add_to(batch + c + k * kWidth, x); });
#endif
        for (; c < count; c += kWidth)
          for (std::int64_t i = r; i < r + few; ++i)
            add_to(batch + c, read(rows[i], col + c, std::min<std::int64_t>(kWidth, count - c)));
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
      __builtin_prefetch(line + i, 0, 2);
  }

#if defined(__AVX2__)
  // A few f16 values nearly always have an exact sum in f32, for a third of the instructions: it is exact where the
  // processor has rounded nothing. Adds them up in `registers` whole registers of columns; false: something was
  // rounded.
  static constexpr int kTogether = HWY_TARGET == HWY_AVX3 ? 8 : 4;
  template <int registers>
  TK_FN bool add_few(const std::int64_t* rows, std::int64_t terms, std::int64_t col, Lanes (&sum)[registers]) const {
    if (!attempts) return false;
    for (int k = 0; k < registers; ++k) sum[k] = 0.0f;
    Rounding rounding;
    for (int k = 0; k < registers; ++k) Rounding::keep_order(sum[k]);
    for (std::int64_t r = 0; r < terms; ++r) {
      fetch_ahead(rows + r, col, registers * kWidth);
      for (int k = 0; k < registers; ++k) sum[k] = sum[k] + Memory<S>::widen(in(rows[r], col + k * kWidth));
    }
    for (int k = 0; k < registers; ++k) Rounding::keep_order(sum[k]);
    return !rounding.happened();
  }
  template <int registers>
  TK_FN bool single_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t col) const {
    Lanes sum[registers];
    if (!add_few<registers>(rows, terms, col, sum)) return false;
    for (int k = 0; k < registers; ++k) finish(v, col + k * kWidth, kWidth, sum[k]);
    return true;
  }

  // Gives add(register, value) a few terms: their sum where it is exact, else every one.
  template <int registers, class Add>
  TK_FN void add_group(const std::int64_t* rows, std::int64_t few, std::int64_t col, Add add) const {
    Lanes sum[registers];
    if (add_few<registers>(rows, few, col, sum)) {
      for (int k = 0; k < registers; ++k) add(k, sum[k]);
      return;
    }
    for (std::int64_t r = 0; r < few; ++r)
      for (int k = 0; k < registers; ++k) add(k, Memory<S>::widen(in(rows[r], col + k * kWidth)));
  }

  // Any number of terms below kHeavy: a few at a time, in double; twice as many registers hold the sums.
  template <int registers>
  TK_FN void double_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t col) const {
    const hn::Half<FloatTag> half;
    const hn::RebindToFloat<hn::Rebind<std::int64_t, hn::Half<FloatTag>>> wide;
    hn::Vec<decltype(wide)> low[registers], high[registers];
    for (int k = 0; k < registers; ++k) low[k] = high[k] = hn::Zero(wide);
    for (std::int64_t first = 0; first < terms; first += kFew)
      add_group<registers>(rows + first, std::min(kFew, terms - first), col, [&](int k, Lanes x) {
        low[k] = hn::Add(low[k], hn::PromoteTo(wide, hn::LowerHalf(half, x.v)));
        high[k] = hn::Add(high[k], hn::PromoteTo(wide, hn::UpperHalf(half, x.v)));
      });
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

  // f16 to f16, nothing to add: +0, or the one gradient with its zeros made +0 and its NaNs the canonical one.
  TK_FN std::int64_t copied_columns(const std::int64_t* rows, std::int64_t terms, std::int64_t v, std::int64_t c,
                                    std::int64_t end) const {
    if (dweight.type != S) return c;
    const hn::ScalableTag<std::int16_t> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto* to = static_cast<std::int16_t*>(dweight.data) + v * dweight.row_stride;
    const auto* from = terms == 0 ? nullptr : reinterpret_cast<const std::int16_t*>(in(rows[0], 0));
    const bool aligned = streamed && reinterpret_cast<std::uintptr_t>(to + c) % (lanes * sizeof(*to)) == 0;
    const auto sum_of_one = [&](auto x) {
      const auto size = hn::And(x, hn::Set(d, 0x7fff));
      const auto number = hn::IfThenZeroElse(hn::Eq(size, hn::Zero(d)), x);
      return hn::IfThenElse(hn::Gt(size, hn::Set(d, 0x7c00)), hn::Set(d, 0x7e00), number);
    };
    const auto loop = [&](auto write) {
      for (; c + 2 * lanes <= end; c += 2 * lanes) {
        if (terms == 1) fetch_ahead(rows, c, 2 * lanes);
        for (std::int64_t at = c; at < c + 2 * lanes; at += lanes)
          write(terms == 0 ? hn::Zero(d) : sum_of_one(hn::LoadU(d, from + at)), to + at);
      }
    };
    if (aligned)
      loop([&](auto x, std::int16_t* p) { hn::Stream(x, d, p); });
    else
      loop([&](auto x, std::int16_t* p) { hn::StoreU(x, d, p); });
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

}  // namespace tokitai::cpu::TK_ISA

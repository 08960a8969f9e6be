// The segment pattern on a GPU: gather rows by index; sum the rows that share one. One cooperative launch each: phases
// are separated by grid barriers, the first asks every index.
// The sum sorts the positions by index (stable, so every sum sees them in ascending order), sums chains of 32
// occurrences in registers and writes each row once; longer runs are joined level by level, 32 partial results at
// a time, as the column rule says.
#pragma once
#include "machines/device/exact.h"
#include "machines/device/memory.h"
#include "machines/device/place_segment.h"
#include "machines/device/plans.h"
#include "machines/device/sort.h"
#include "patterns/names.h"
#include "patterns/reduction.h"

namespace tokitai::device {

inline constexpr i64 kMostOccurrences = i64{1} << 23;  // of one index in an exact f16 sum
inline constexpr u64 kTooMany = u64{1} << 63;          // the flag's mark of an index that occurs more often

template <class D, SegmentPlan P> struct SegmentMachine : D::Names {
  const Arguments& arguments;
  const i64 queries, dim, vocab;
  static constexpr Kind kIndex = kind_at(P.kinds, 1);

  TK_FN explicit SegmentMachine(const Arguments& a)
      : arguments(a), queries(a.extent[0]), dim(a.extent[1]), vocab(a.extent[2]) {}

  TK_FN bool padded(i64 v) const { return P.padding && v == arguments.option[P.padding_option]; }
  TK_FN i64 index(i64 i) const { return load_integer<kIndex>(arguments.operand[1], i); }
  TK_FN bool valid(i64 i) const {
    const i64 v = index(i);
    return padded(v) || (v >= 0 && v < vocab);
  }
  template <class O> TK_FN constexpr bool flag(O) const { return P.accumulate; }
  // Every index is asked before anything is written; the smallest refused position is kept.
  TK_FN void check_indices() const {
    for (i64 i = first_item(block_index(), thread_index(), P.threads); i < queries;
         i += item_step(grid_size(), P.threads))
      if (!valid(i)) atomic_min(global<u64>(arguments.flag), static_cast<u64>(i));
  }

  // --- Rows by index: a group of 32 threads copies a row, several vectors on their way at once.
  template <class O, class W> TK_FN void gather(O, W) const {
    constexpr Kind K = kind_at(P.kinds, O::index);
    constexpr int kVectors = 4;
    const i64 groups = item_step(grid_size(), P.threads / 32);
    const int lane = thread_index() % 32;
    i64 i = first_item(block_index(), thread_index() / 32, P.threads / 32);
    i64 next = i < queries ? index(i) : 0;
    for (; i < queries; i += groups) {
      const i64 v = next;
      if (i + groups < queries) next = index(i + groups);
      const bool hole = padded(v);
      const Global<const Raw<K>> from = elements<K>(arguments.operand[W::index], hole ? 0 : v);
      const Global<Raw<K>> to = elements<K>(arguments.operand[O::index], i);
      for (i64 c = 0; c < dim; c += kVectors * 32 * P.wide) {
        Packed<K, P.wide> held[kVectors];
        TK_UNROLL
        for (int turn = 0; turn < kVectors; ++turn) {
          const i64 at = copied_column(c, turn, lane, P.wide);
          held[turn] = Packed<K, P.wide>{};
          if (at < dim && !hole) held[turn] = load_row<K>(from, at);
        }
        TK_UNROLL
        for (int turn = 0; turn < kVectors; ++turn) {
          const i64 at = copied_column(c, turn, lane, P.wide);
          if (at < dim) store_row<K>(to, at, held[turn]);
        }
      }
    }
  }
  TK_FN int left(i64 at) const {
    return TK_AS_PROVED(dim - at < P.wide ? static_cast<int>(dim - at) : P.wide, at_most(dim - at, P.wide));
  }
  template <Kind K> TK_FN Packed<K, P.wide> load_row(Global<const Raw<K>> from, i64 at) const {
    if constexpr (P.whole)
      return load_packed<K, P.wide, P.access>(from + at);
    else
      return load_some<K, P.wide>(from + at, left(at));
  }
  template <Kind K> TK_FN void store_row(Global<Raw<K>> to, i64 at, const Packed<K, P.wide>& v) const {
    if constexpr (P.whole)
      store_packed<K, P.wide,
                   (P.access < P.wide * bytes_of(K) ? P.access
                                                    : (P.wide * bytes_of(K) < 16 ? P.wide * bytes_of(K) : 16))>(to + at,
                                                                                                                v);
    else
      store_some<K, P.wide>(to + at, v, left(at));
  }

  // --- Sums of rows that share an index.
  template <class O, class Y> TK_FN void scatter_sum(O, Y, bool) const { Scatter<O::index, Y::index>{*this}.run(); }

  template <int O, int Y> struct Scatter {
    const SegmentMachine& m;
    static constexpr Kind KY = kind_at(P.kinds, Y), KO = kind_at(P.kinds, O);
    static constexpr bool kExact = KY == Kind::f16;
    using Partial = typename RawOf<kExact ? 8 : 4>::type;
    static constexpr int kGroups = P.threads / 32;

    TK_FN int lane() const { return thread_index() % 32; }
    TK_FN i64 group() const {
      return TK_AS_PROVED(static_cast<i64>(block_index()) * kGroups + thread_index() / 32,
                          first_item(block_index(), thread_index() / 32, kGroups));
    }
    TK_FN i64 groups() const { return item_step(grid_size(), kGroups); }
    TK_FN i64 slabs() const { return slabs_of(m.dim, P.wide); }

    TK_FN void run() const {
      const SortSpace space = sort_space_of<P.digit_bits>(m.queries, m.vocab, grid_size());
      Sorter<P.digit_bits, P.threads> sorter(m.arguments, space);
      const i64 all = item_step(grid_size(), P.threads);
      const i64 self = first_item(block_index(), thread_index(), P.threads);

      // Rows nobody asked for keep an empty run.
      m.check_indices();
      for (i64 i = self; i < m.queries; i += all) {
        const i64 v = m.index(i);
        sorter.put(i, m.padded(v) ? static_cast<u32>(m.vocab) : static_cast<u32>(v), static_cast<u32>(i));
      }
      const Global<u32> begin = global<u32>(m.arguments.workspace) + space.begin;
      const Global<u32> end = global<u32>(m.arguments.workspace) + space.end;
      for (i64 v = self; v < m.vocab; v += all) {
        begin[v] = 0;
        end[v] = 0;
      }
      if (self < kLevels) levels()[self] = 0;
      sorter.meet();
      if (flagged()) return;
      sorter.sort(m.queries, m.vocab);

      for (i64 p = self; p < m.queries; p += all) {
        const u32 key = sorter.keys()[p];
        if (static_cast<i64>(key) >= m.vocab) continue;
        if (p == 0 || sorter.keys()[p - 1] != key) begin[key] = static_cast<u32>(p);
        if (p + 1 == m.queries || sorter.keys()[p + 1] != key) {
          end[key] = static_cast<u32>(p + 1);
          i64 span = kChain;
          for (int level = 0; p >= span && sorter.keys()[p - span] == key; ++level, span *= kChain)
            atomic_add(levels() + level, 1);
        }
        if (kExact && p >= kMostOccurrences && sorter.keys()[p - kMostOccurrences] == key)
          atomic_min(global<u64>(m.arguments.flag), kTooMany | key);
      }
      sorter.meet();
      if (flagged()) return;

      empty_rows(end);
      chains(sorter, begin, end);
      i64 span = kChain;
      for (int level = 0; level < kLevels && load_fresh(levels() + level) != 0; ++level, span *= kChain) {
        sorter.meet();
        join(sorter, begin, end, span);
      }
    }
    // How many indices occur more than 32, 32^2, ... times: levels that nobody needs are left out.
    static constexpr int kLevels = kSortLevels;
    TK_FN Global<u32> levels() const {
      return global<u32>(m.arguments.workspace) + sort_space_of<P.digit_bits>(m.queries, m.vocab, grid_size()).levels;
    }
    TK_FN bool flagged() const { return global<u64>(m.arguments.flag)[0] != kUnflagged; }

    // A row's new value, from the sum before its rounding to storage.
    TK_FN void finish(i64 v, i64 at, const float (&sum)[P.wide]) const {
      const Global<Raw<KO>> to = elements<KO>(m.arguments.operand[O], v);
      float out[P.wide];
      if constexpr (P.accumulate) {
        const Packed<KO, P.wide> before = m.template load_row<KO>(to, at);
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) out[e] = before[e] + sum[e];
      } else {
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) out[e] = sum[e];
      }
      m.template store_row<KO>(to, at, pack<KO, P.wide>(out));
    }
    TK_FN void empty_rows(Global<const u32> end) const {
      constexpr int kWindow = 32;
      const i64 windows = pieces_of(m.vocab, kWindow);
      for (i64 w = group(); w < windows; w += groups()) {
        const i64 mine = window_begin(w) + lane();
        bool empty = false;
        if (mine < m.vocab) empty = end[mine] == 0;
        const u32 mask = ballot(empty);
        for (int b = 0; b < kWindow; ++b) {
          if (((mask >> b) & 1u) == 0) continue;
          for (i64 at = lane() * P.wide; at < m.dim; at += 32 * P.wide) {
            const float none[P.wide] = {};
            finish(window_begin(w) + b, at, none);
          }
        }
      }
    }

    // Where the partial result of the chain at sorted position p lies.
    TK_FN i64 partial_of(i64 p, i64 first) const { return partial_row_of(p, first) * m.dim; }
    TK_FN Global<Partial> partials() const {
      return global<Partial>(m.arguments.workspace) +
             sort_space_of<P.digit_bits>(m.queries, m.vocab, grid_size()).words * 4 / static_cast<i64>(sizeof(Partial));
    }

    // What is known of the chain that positions are being added to.
    struct Chain {
      u32 key;
      i64 first, stop;  // of the whole run
      i64 start, end;   // of this chain
    };
    // Chains of up to 32 occurrences. A group takes the chains that start in 32 sorted positions, and one slab of
    // columns; it walks the positions with several rows on their way, whatever chain they belong to.
    template <class Sorter>
    TK_FN void chains(const Sorter& sorter, Global<const u32> begin, Global<const u32> end) const {
      const i64 windows = pieces_of(m.queries, kChain);
      for (i64 item = group(); item < windows * slabs(); item += groups()) {
        const i64 base = TK_AS_PROVED(item / slabs() * kChain, window_begin(item / slabs()));
        const i64 at =
            TK_AS_PROVED((item % slabs() * 32 + lane()) * P.wide, slab_column(item, slabs(), lane(), P.wide));
        u32 key = 0xffffffffu, first = 0, stop = 0, value = 0;
        if (base + lane() < m.queries) {
          key = sorter.keys()[base + lane()];
          value = sorter.values()[base + lane()];
        }
        const bool real = static_cast<i64>(key) < m.vocab;
        if (real) {
          first = begin[key];
          stop = end[key];
        }
        const u32 starts = ballot(real && TK_AS_PROVED((base + lane() - first) % kChain == 0,
                                                       starts_chain(base + lane(), i64{first}, i64{kChain})));
        if (starts == 0) continue;
        walk(sorter, base, at, starts, key, first, stop, value);
      }
    }
    // Rows on their way lie in this thread's own cells of shared memory, behind the sort's.
    static constexpr int kAhead = P.ahead;
    static constexpr int kRowBytes = P.wide * bytes_of(KY);
    using Cell = Words<kRowBytes / 4>;
    static_assert(kRowBytes <= 16);
    TK_FN Shared<Cell> cell(int slot) const {
      return shared<Cell>(Sorter<P.digit_bits, P.threads>::kSharedBytes) + row_cell(slot, thread_index(), P.threads);
    }
    TK_FN void fetch(u32 row, i64 at, int slot) const {
      const Global<const Raw<KY>> from = elements<KY>(m.arguments.operand[Y], row) + at;
      if constexpr (P.whole && P.access == kRowBytes) {
        copy_async<kRowBytes>(cell(slot), cast<const Cell>(from));
      } else {
        const Packed<KY, P.wide> p = m.template load_row<KY>(elements<KY>(m.arguments.operand[Y], row), at);
        Cell c;
        TK_UNROLL
        for (int w = 0; w < kRowBytes / 4; ++w) c.word[w] = p.word[w];
        *cell(slot) = c;
      }
    }
    template <class Sorted>
    TK_FN void walk(const Sorted& sorter, i64 base, i64 at, u32 starts, u32 key, u32 first, u32 stop, u32 value) const {
      int from = 0, last = 31;
      while (((starts >> from) & 1u) == 0) ++from;
      while (((starts >> last) & 1u) == 0) --last;
      const auto chain_at = [&](int place) {
        Chain c;
        c.key = shuffle(key, place);
        c.first = shuffle(first, place);
        c.stop = shuffle(stop, place);
        c.start = base + place;
        c.end = TK_AS_PROVED(c.stop - c.start < kChain ? c.stop : c.start + kChain, chain_stop(c.start, c.stop));
        return c;
      };
      const i64 end = chain_at(last).end;
      const bool inside = at < m.dim;
      const auto send_for = [&](i64 q, int slot) {
        const u32 near = shuffle(value, static_cast<int>((q - base) % 32));
        if (q < end && inside) {
          u32 row = near;
          if (q - base >= 32) row = sorter.values()[q];
          fetch(row, at, slot);
        }
        copy_commit();
      };
      i64 p = base + from;
      TK_UNROLL
      for (int a = 0; a < kAhead; ++a) send_for(p + a, a);
      Chain chain = chain_at(from);
      Sum sum;
      for (int slot = 0; p < end; ++p) {
        if (p == chain.end) {
          if (inside) flush(chain, sum, at);
          chain = chain_at(static_cast<int>(p - base));
          sum = Sum{};
        }
        copy_wait<kAhead - 1>();
        if (inside) {
          const Cell c = *cell(slot);
          Packed<KY, P.wide> row;
          TK_UNROLL
          for (int w = 0; w < kRowBytes / 4; ++w) row.word[w] = c.word[w];
          sum.add(row, static_cast<int>(p - chain.start));
        }
        send_for(p + kAhead, slot);
        slot = slot + 1 == kAhead ? 0 : slot + 1;
      }
      if (inside) flush(chain, sum, at);
      copy_wait<0>();
    }
    // The sum of one chain, a few columns of it.
    struct Sum {
      HalfChain half[kExact ? P.wide : 1];
      float single[kExact ? 1 : P.wide] = {};
      TK_FN void add(const Packed<KY, P.wide>& row, int turn) {
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) {
          if constexpr (kExact)
            half[e].add(row[e]);
          else
            single[e] = single[e] + row[e];
        }
        if (kExact && turn % 8 == 7) settle();
      }
      TK_FN float value(int e) const {
        if constexpr (kExact)
          return half[e].single();
        else
          return single[e];
      }
      TK_FN void settle() {
        TK_UNROLL
        for (int e = 0; e < (kExact ? P.wide : 1); ++e) half[e].settle();
      }
    };
    TK_FN void flush(const Chain& chain, Sum& sum, i64 at) const {
      const bool whole = chain.stop - chain.first <= kChain;
      if (chain.stop - chain.first == 1) {  // the value itself, a zero as +0
        float out[P.wide];
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) out[e] = sum.value(e);
        finish(chain.key, at, out);
        return;
      }
      if constexpr (kExact) sum.settle();
      if (whole) {
        float out[P.wide];
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) {
          if constexpr (kExact)
            out[e] = KO == Kind::f16 ? sum.half[e].odd() : sum.half[e].single();
          else
            out[e] = sum.single[e];
        }
        finish(chain.key, at, out);
        return;
      }
      const Global<Partial> to = partials() + (partial_of(chain.start, chain.first) + at);
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e)
        if (e < m.left(at)) {
          if constexpr (kExact)
            to[e] = static_cast<u64>(sum.half[e].exact());
          else
            to[e] = bits(sum.single[e]);
        }
    }

    // One level up: 32 partial results, `span` positions apart, become one, in the place of the first.
    template <class Sorter>
    TK_FN void join(const Sorter& sorter, Global<const u32> begin, Global<const u32> end, i64 span) const {
      // The chains of long runs that start in 32 positions, a few such windows at once. A slab's windows are spread
      // over all groups.
      constexpr int kScan = 4;
      const i64 windows = pieces_of(m.queries, kChain);
      const i64 rounds = (windows + kScan - 1) / kScan;
      for (i64 item = group(); item < rounds * slabs(); item += groups()) {
        const i64 round = item / slabs();
        const i64 at =
            TK_AS_PROVED((item % slabs() * 32 + lane()) * P.wide, slab_column(item, slabs(), lane(), P.wide));
        u32 key[kScan];
        TK_UNROLL
        for (int s = 0; s < kScan; ++s) {
          const i64 mine = window_begin(round * kScan + s) + lane();
          key[s] = 0xffffffffu;
          if (mine < m.queries) key[s] = sorter.keys()[mine];
        }
        u32 first[kScan], stop[kScan];
        TK_UNROLL
        for (int s = 0; s < kScan; ++s) {
          first[s] = stop[s] = 0;
          if (static_cast<i64>(key[s]) < m.vocab) {
            first[s] = begin[key[s]];
            stop[s] = end[key[s]];
          }
        }
        TK_UNROLL
        for (int s = 0; s < kScan; ++s) {
          const i64 base = window_begin(round * kScan + s);
          const u32 mask = ballot(static_cast<i64>(stop[s] - first[s]) > span &&
                                  starts_chain(base + lane(), i64{first[s]}, span * kChain));
          for (int b = 0; mask >> b != 0; ++b) {
            if (((mask >> b) & 1u) == 0) continue;
            const u32 k = shuffle(key[s], b), from = shuffle(first[s], b), to = shuffle(stop[s], b);
            if (at < m.dim) join_at(k, base + b, from, to, span, at);
            if (b == 31) break;
          }
        }
      }
    }
    TK_FN void join_at(u32 key, i64 p, i64 first, i64 stop, i64 span, i64 at) const {
      const bool whole = stop - first <= span * kChain;
      const i64 end = joined_stop(p, stop, span);
      JoinSum sum;
      for (i64 q = p; q < end; q += kAheadJoin * span) {
        Partial held[kAheadJoin][P.wide];
        TK_UNROLL
        for (int r = 0; r < kAheadJoin; ++r)
          if (q + r * span < end) load_partials(held[r], partial_of(q + r * span, first), at);
        TK_UNROLL
        for (int r = 0; r < kAheadJoin; ++r)
          if (q + r * span < end) sum.add(held[r]);
      }
      if (whole) {
        float out[P.wide];
        sum.round(out);
        finish(key, at, out);
        return;
      }
      const Global<Partial> to = partials() + (partial_of(p, first) + at);
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e)
        if (e < m.left(at)) to[e] = sum.partial(e);
    }
    // Partial rows are aligned where every vector of a row is whole.
    static constexpr int kAheadJoin = kExact ? 2 : 4;
    TK_FN void load_partials(Partial (&held)[P.wide], i64 row, i64 at) const {
      const Global<const Partial> from = partials() + (row + at);
      if constexpr (P.whole) {
        constexpr int kBytes = static_cast<int>(sizeof(Partial)), kAll = P.wide * kBytes;
        constexpr int kPiece = kAll < 16 ? kAll : 16, kPer = kPiece / kBytes;
        TK_UNROLL
        for (int a = 0; a < kAll / kPiece; ++a) {
          const Words<kPiece / 4> w = cast<const Words<kPiece / 4>>(from)[a];
          TK_UNROLL
          for (int e = 0; e < kPer; ++e) {
            if constexpr (kExact)
              held[a * kPer + e] = static_cast<u64>(w.word[2 * e]) | static_cast<u64>(w.word[2 * e + 1]) << 32;
            else
              held[a * kPer + e] = w.word[e];
          }
        }
      } else {
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) {
          held[e] = 0;
          if (e < m.left(at)) held[e] = from[e];
        }
      }
    }
    // The sum of 32 partial results.
    struct JoinSum {
      ExactTotal total[kExact ? P.wide : 1];
      float single[kExact ? 1 : P.wide] = {};
      TK_FN void add(const Partial (&held)[P.wide]) {
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) {
          if constexpr (kExact)
            total[e].add(static_cast<i64>(held[e]));
          else
            single[e] = single[e] + from_bits(held[e]);
        }
      }
      TK_FN void round(float (&out)[P.wide]) const {
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e) {
          if constexpr (kExact)
            out[e] = KO == Kind::f16 ? total[e].odd() : total[e].single();
          else
            out[e] = single[e];
        }
      }
      TK_FN Partial partial(int e) const {
        if constexpr (kExact)
          return static_cast<u64>(total[e].exact());
        else
          return bits(single[e]);
      }
    };
  };
};

template <class D, SegmentPlan P> TK_FN void segment_kernel(const Arguments& arguments) {
  SegmentMachine<D, P> m(arguments);
  if constexpr (P.gathers) {
    m.check_indices();
    grid_barrier(global<u32>(arguments.counter), 1);
    if (global<u64>(arguments.flag)[0] != kUnflagged) return;
  }
  D::segment(m);
}

}  // namespace tokitai::device

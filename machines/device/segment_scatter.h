// Sums of rows that share an index: the positions are sorted by index (stable, so every sum sees them in ascending
// order), chains of 32 occurrences are summed in registers and each row is written once; longer runs are joined level
// by level, 32 partial results at a time, as the column rule says.
#pragma once
#include "machines/device/segment_rows.h"
#include "machines/device/segment_sums.h"
#include "machines/device/sort.h"
#include "patterns/reduction.h"

namespace tokitai::device {

inline constexpr i64 kMostOccurrences = i64{1} << 23;  // of one index in an exact f16 sum
inline constexpr u64 kTooMany = u64{1} << 63;          // the flag's mark of an index that occurs more often

template <class D, SegmentPlan P, int O, int Y> struct SegmentScatter {
  const SegmentRows<D, P>& m;
  static constexpr Kind KY = kind_at(P.kinds, Y), KO = kind_at(P.kinds, O);
  static constexpr bool kExact = KY == Kind::f16;
  using Partial = typename RawOf<kExact ? 8 : 4>::type;
  static constexpr int kGroups = P.threads / 32;

  TK_FN Counter lane() const { return lane_in_group(thread_index()); }
  TK_FN Place<Row, i64> group() const { return first_item(block_index(), group_of_thread(thread_index()), kGroups); }
  TK_FN Place<Step<Row>, i64> groups() const { return item_step(grid_size(), kGroups); }
  TK_FN i64 slabs() const { return slabs_of(m.dim_, P.wide); }

  TK_FN void run() const {
    const SortSpace space = sort_space_of<P.digit_bits>(m.queries_, m.vocab_, grid_size());
    Sorter<P.digit_bits, P.threads> sorter(m.arguments_, space);
    const Place<Step<Row>, i64> all = item_step(grid_size(), P.threads);
    const Place<Row, i64> self = first_item(block_index(), thread_index(), P.threads);

    // Rows nobody asked for keep an empty run.
    m.check_indices_();
    for (Place<Row, i64> i = self; i < m.queries_; i += all) {
      const i64 v = m.index_at_(i);
      sorter.put(i, m.padded_(v) ? static_cast<u32>(m.vocab_) : static_cast<u32>(v), static_cast<u32>(i));
    }
    const Global<u32, Row> begin = global<u32, Workspace>(m.arguments_.workspace) + space.begin;
    const Global<u32, Row> end = global<u32, Workspace>(m.arguments_.workspace) + space.end;
    for (Place<Row, i64> v = self; v < m.vocab_; v += all) {
      begin[v] = 0;
      end[v] = 0;
    }
    if (self < kLevels) levels()[level_of(self)] = 0;
    sorter.meet();
    if (flagged()) return;
    sorter.sort(m.queries_, m.vocab_);

    for (Place<Row, i64> p = self; p < m.queries_; p += all) {
      const u32 key = sorter.keys()[p];
      if (static_cast<i64>(key) >= m.vocab_) continue;
      if (p == 0 || sorter.keys()[position_before(p, Place<Span, i64>(1))] != key)
        begin[known(key)] = static_cast<u32>(p);
      if (p + 1 == m.queries_ || sorter.keys()[position_of(p, Counter(1))] != key) {
        end[known(key)] = static_cast<u32>(p + 1);
        Place<Span, i64> span = kChain;
        for (Counter level = 0; p >= span && sorter.keys()[position_before(p, span)] == key; ++level) {
          atomic_add(levels() + level, 1);
          span = next_span(span);
        }
      }
      if (kExact && p >= kMostOccurrences &&
          sorter.keys()[position_before(p, Place<Span, i64>(kMostOccurrences))] == key)
        atomic_min(global_one<u64>(m.arguments_.flag), kTooMany | key);
    }
    sorter.meet();
    if (flagged()) return;

    empty_rows(end);
    chains(sorter, begin, end);
    Place<Span, i64> span = kChain;
    for (Counter level = 0; level < kLevels && load_fresh(levels() + level) != 0; ++level) {
      sorter.meet();
      join(sorter, begin, end, span);
      span = next_span(span);
    }
  }
  // How many indices occur more than 32, 32^2, ... times: levels that nobody needs are left out.
  static constexpr int kLevels = kSortLevels;
  TK_FN Global<u32, Counted> levels() const {
    return global<u32, Workspace>(m.arguments_.workspace) +
           sort_space_of<P.digit_bits>(m.queries_, m.vocab_, grid_size()).levels;
  }
  TK_FN bool flagged() const { return refused(m.arguments_); }
  // The row of an index that memory said.
  TK_FN Place<Row, i64> known(u32 key) const { return given_row(i64{key}, m.vocab_); }

  // A row's new value, from the sum before its rounding to storage.
  TK_FN void finish(Place<Row, i64> v, Place<Column, i64> at, const float (&sum)[P.wide]) const {
    const Global<Raw<KO>, Column> to = elements<KO>(m.arguments_.operand[O], v);
    float out[P.wide];
    if constexpr (P.accumulate) {
      const Packed<KO, P.wide> before = m.template load_row_<KO>(to, at);
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e) out[e] = before[e] + sum[e];
    } else {
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e) out[e] = sum[e];
    }
    m.template store_row_<KO>(to, at, pack<KO, P.wide>(out));
  }
  TK_FN void empty_rows(Global<const u32, Row> end) const {
    constexpr int kWindow = 32;
    const i64 windows = pieces_of(m.vocab_, kWindow);
    for (Place<Row, i64> w = group(); w < windows; w += groups()) {
      const Place<Row, i64> mine = position_of(window_begin(w), lane());
      bool empty = false;
      if (mine < m.vocab_) empty = end[mine] == 0;
      const u32 mask = ballot(empty);
      for (Counter b = 0; b < kWindow; ++b) {
        if (((mask >> b) & 1u) == 0) continue;
        for (Place<Column, i64> at = copied_column(CounterOf<i64>(0), Counter(0), lane(), P.wide); at < m.dim_;
             at += 32 * P.wide) {
          const float none[P.wide] = {};
          finish(position_of(window_begin(w), b), at, none);
        }
      }
    }
  }

  // Where the partial result of the chain at sorted position p lies.
  TK_FN Place<Begin<Column>, i64> partial_of(Place<Row, i64> p, i64 first) const {
    return row_begin(partial_row_of(p, first), m.dim_);
  }
  TK_FN Global<Partial, InMatrix> partials() const {
    return global<Partial, Workspace>(m.arguments_.workspace) +
           partials_begin(sort_space_of<P.digit_bits>(m.queries_, m.vocab_, grid_size()).words,
                          static_cast<i64>(sizeof(Partial)));
  }

  // What is known of the chain that positions are being added to.
  struct Chain {
    u32 key;
    i64 first, stop;  // of the whole run
    Place<Row, i64> start;
    i64 end;  // of this chain
  };
  // Chains of up to 32 occurrences. A group takes the chains that start in 32 sorted positions, and one slab of
  // columns; it walks the positions with several rows on their way, whatever chain they belong to.
  template <class Sorter>
  TK_FN void chains(const Sorter& sorter, Global<const u32, Row> begin, Global<const u32, Row> end) const {
    const i64 windows = pieces_of(m.queries_, kChain);
    for (Place<Row, i64> item = group(); item < windows * slabs(); item += groups()) {
      const Place<Row, i64> base = window_begin(window_of(item, slabs()));
      const Place<Column, i64> at = slab_column(item, slabs(), lane(), P.wide);
      u32 key = 0xffffffffu, first = 0, stop = 0, value = 0;
      if (base + lane() < m.queries_) {
        key = sorter.keys()[position_of(base, lane())];
        value = sorter.values()[position_of(base, lane())];
      }
      const bool real = static_cast<i64>(key) < m.vocab_;
      if (real) {
        first = begin[known(key)];
        stop = end[known(key)];
      }
      const u32 starts = ballot(real && starts_chain(position_of(base, lane()), i64{first}, i64{kChain}));
      if (starts == 0) continue;
      walk(sorter, base, at, starts, key, first, stop, value);
    }
  }
  // Rows on their way lie in this thread's own cells of shared memory, behind the sort's.
  static constexpr int kAhead = P.ahead;
  static constexpr int kRowBytes = P.wide * bytes_of(KY);
  using Cell = Words<kRowBytes / 4>;
  static_assert(kRowBytes <= 16);
  TK_FN SharedSpot<Cell> cell(Counter slot) const {
    return shared<Cell, StagedCell>(rows_byte(kGroups, 1 << P.digit_bits)) + row_cell(slot, thread_index(), P.threads);
  }
  TK_FN void fetch(Place<Row, i64> row, Place<Column, i64> at, Counter slot) const {
    const GlobalSpot<const Raw<KY>> from = elements<KY>(m.arguments_.operand[Y], row) + at;
    if constexpr (P.whole && P.access == kRowBytes) {
      copy_async<kRowBytes>(cell(slot), cast<const Cell>(from));
    } else {
      const Packed<KY, P.wide> p = m.template load_row_<KY>(elements<KY>(m.arguments_.operand[Y], row), at);
      Cell c;
      TK_UNROLL
      for (int w = 0; w < kRowBytes / 4; ++w) c.word[w] = p.word[w];
      *cell(slot) = c;
    }
  }
  template <class Sorted>
  TK_FN void walk(const Sorted& sorter, Place<Row, i64> base, Place<Column, i64> at, u32 starts, u32 key, u32 first,
                  u32 stop, u32 value) const {
    Counter from = 0, last = 31;
    while (((starts >> from) & 1u) == 0) ++from;
    while (((starts >> last) & 1u) == 0) --last;
    const auto chain_at = [&](Counter place) {
      Chain c;
      c.key = shuffle(key, place);
      c.first = shuffle(first, place);
      c.stop = shuffle(stop, place);
      c.start = position_of(base, place);
      c.end = chain_stop(c.start, c.stop);
      return c;
    };
    const i64 end = chain_at(last).end;
    const bool inside = at < m.dim_;
    const auto send_for = [&](Place<Row, i64> q, Counter slot) {
      const u32 near = shuffle(value, static_cast<int>((q - base) % 32));
      if (q < end && inside) {
        u32 row = near;
        if (q - base >= 32) row = sorter.values()[q];
        fetch(given_row(i64{row}, m.queries_), at, slot);
      }
      copy_commit();
    };
    Place<Row, i64> p = position_of(base, from);
    TK_UNROLL
    for (Counter a = 0; a < kAhead; ++a) send_for(position_of(p, a), a);
    Chain chain = chain_at(from);
    Sum sum;
    for (Counter slot = 0; p < end; ++p) {
      if (p == chain.end) {
        if (inside) flush(chain, sum, at);
        chain = chain_at(offset_of(p, base));
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
      send_for(position_of(p, Counter(kAhead)), slot);
      slot = next_slot(slot, kAhead);
    }
    if (inside) flush(chain, sum, at);
    copy_wait<0>();
  }
  using Sum = ChainSum<KY, P.wide, kExact>;
  TK_FN void flush(const Chain& chain, Sum& sum, Place<Column, i64> at) const {
    const bool whole = chain.stop - chain.first <= kChain;
    if (chain.stop - chain.first == 1) {  // the value itself, a zero as +0
      float out[P.wide];
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e) out[e] = sum.value(e);
      finish(known(chain.key), at, out);
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
      finish(known(chain.key), at, out);
      return;
    }
    const GlobalSpot<Partial> to = partials() + place_in_row(partial_of(chain.start, chain.first), at);
    TK_UNROLL
    for (Counter e = 0; e < P.wide; ++e)
      if (e < m.left_(at)) {
        if constexpr (kExact)
          to[e] = static_cast<u64>(sum.half[e].exact());
        else
          to[e] = bits(sum.single[e]);
      }
  }

  // One level up: 32 partial results, `span` positions apart, become one, in the place of the first.
  template <class Sorter>
  TK_FN void join(const Sorter& sorter, Global<const u32, Row> begin, Global<const u32, Row> end,
                  Place<Span, i64> span) const {
    // The chains of long runs that start in 32 positions, a few such windows at once. A slab's windows are spread
    // over all groups.
    constexpr int kScan = 4;
    const i64 windows = pieces_of(m.queries_, kChain);
    const i64 rounds = (windows + kScan - 1) / kScan;
    for (Place<Row, i64> item = group(); item < rounds * slabs(); item += groups()) {
      const Place<Row, i64> round = window_of(item, slabs());
      const Place<Column, i64> at = slab_column(item, slabs(), lane(), P.wide);
      u32 key[kScan];
      TK_UNROLL
      for (Counter s = 0; s < kScan; ++s) {
        const Place<Row, i64> mine = position_of(window_begin(window_in_round(round, s, kScan)), lane());
        key[s] = 0xffffffffu;
        if (mine < m.queries_) key[s] = sorter.keys()[mine];
      }
      u32 first[kScan], stop[kScan];
      TK_UNROLL
      for (int s = 0; s < kScan; ++s) {
        first[s] = stop[s] = 0;
        if (static_cast<i64>(key[s]) < m.vocab_) {
          first[s] = begin[known(key[s])];
          stop[s] = end[known(key[s])];
        }
      }
      TK_UNROLL
      for (Counter s = 0; s < kScan; ++s) {
        const Place<Row, i64> base = window_begin(window_in_round(round, s, kScan));
        const u32 mask = ballot(static_cast<i64>(stop[s] - first[s]) > span &&
                                starts_chain(position_of(base, lane()), i64{first[s]}, span * kChain));
        for (Counter b = 0; mask >> b != 0; ++b) {
          if (((mask >> b) & 1u) == 0) continue;
          const u32 k = shuffle(key[s], b), from = shuffle(first[s], b), to = shuffle(stop[s], b);
          if (at < m.dim_) join_at(k, position_of(base, b), from, to, span, at);
          if (b == 31) break;
        }
      }
    }
  }
  TK_FN void join_at(u32 key, Place<Row, i64> p, i64 first, i64 stop, Place<Span, i64> span,
                     Place<Column, i64> at) const {
    const bool whole = stop - first <= span * kChain;
    const i64 end = joined_stop(p, stop, span);
    JoinSum sum;
    for (Place<Row, i64> q = p; q < end; q += joined_step(kAheadJoin, span)) {
      Partial held[kAheadJoin][P.wide];
      TK_UNROLL
      for (Counter r = 0; r < kAheadJoin; ++r)
        if (q + r * span < end) load_partials(held[r], partial_of(joined_position(q, r, span), first), at);
      TK_UNROLL
      for (int r = 0; r < kAheadJoin; ++r)
        if (q + r * span < end) sum.add(held[r]);
    }
    if (whole) {
      float out[P.wide];
      sum.round(out);
      finish(known(key), at, out);
      return;
    }
    const GlobalSpot<Partial> to = partials() + place_in_row(partial_of(p, first), at);
    TK_UNROLL
    for (Counter e = 0; e < P.wide; ++e)
      if (e < m.left_(at)) to[e] = sum.partial(e);
  }
  using JoinSum = JoinedSum<KO, P.wide, kExact>;
  // Partial rows are aligned where every vector of a row is whole.
  static constexpr int kAheadJoin = kExact ? 2 : 4;
  TK_FN void load_partials(Partial (&held)[P.wide], Place<Begin<Column>, i64> row, Place<Column, i64> at) const {
    const GlobalSpot<const Partial> from = partials() + place_in_row(row, at);
    if constexpr (P.whole) {
      constexpr int kBytes = static_cast<int>(sizeof(Partial)), kAll = P.wide * kBytes;
      constexpr int kPiece = kAll < 16 ? kAll : 16, kPer = kPiece / kBytes;
      TK_UNROLL
      for (Counter a = 0; a < kAll / kPiece; ++a) {
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
      for (Counter e = 0; e < P.wide; ++e) {
        held[e] = 0;
        if (e < m.left_(at)) held[e] = from[e];
      }
    }
  }
};

}  // namespace tokitai::device

// The row pattern on a GPU. A team of threads holds one row: 256 / wide threads per block of 2048 columns, each
// with its lanes' whole chains, so every reduction follows the canonical order whatever the launch looks like.
// Rows arrive through shared memory, each thread copying for itself while it works on an earlier row. A row too
// long for the chip is read again for every pass (on_chip is false); one that fits a few blocks of a cluster is
// shared by them.
#pragma once
#include "machines/device/row_staging.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, RowPlan P> struct RowMachine : RowStaging<D, P> {
  using Staging = RowStaging<D, P>;
  using Shape = RowShape<P>;
  using Staging::arguments, Staging::rows, Staging::n, Staging::thread, Staging::rank, Staging::lane;
  using Staging::first_block, Staging::row, Staging::stage, Staging::parity, Staging::blocks, Staging::column;
  using Staging::for_blocks, Staging::for_chunks, Staging::inside, Staging::fetch_row;
  using typename Staging::Cell;
  template <class O> static constexpr Kind kind = Staging::template kind<O>;
  template <Kind K> static constexpr int kAccess = Staging::template kAccess<K>;

  static constexpr int kSums = count_set(P.sums);
  static constexpr int kSummed = P.sums != 0 && P.on_chip ? P.chunks * P.wide : 1;  // elements of a thread
  float sums[kSums > 0 ? kSums : 1][kSummed];

  TK_FN explicit RowMachine(const Arguments& a) : Staging(a) {}

  template <class O> TK_FN float number(O) const {
    static_assert(kind<O> == Kind::f32 || kind<O> == Kind::absent);
    if constexpr (kind<O> == Kind::absent)
      return 0.0f;
    else
      return from_bits(holds ? static_cast<u32>(held[one<O::index>()]) : static_cast<u32>(fetch_one<O::index>(row)));
  }
  template <class O> TK_FN i64 integer(O) const {
    return static_cast<i64>(holds ? held[one<O::index>()] : fetch_one<O::index>(row));
  }

  // --- The rows that a check has counted: adding integers gives the same in any order.
  i64 rows_counted = 0;
  TK_FN i64 counted() const { return rows_counted; }
  TK_FN void learn_count() {
    if constexpr (requires { D::counts(*this); }) {
      static_assert(P.checked, "rows are counted where they are checked");
      rows_counted = static_cast<i64>(u64(*global_one<u64>(arguments.counted)));
    }
  }
  TK_FN void tell_count(u32 mine) const {
    TK_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) mine += shuffle_xor(mine, mask);
    if (thread_index() % 32 == 0 && mine != 0) atomic_count(global_one<u64>(arguments.counted), mine);
  }

  // --- One value per row: the next row's are read while this one is worked on.
  static constexpr int kOnes = count_set(P.ahead) > 0 ? count_set(P.ahead) : 1;
  u64 held[kOnes], next[kOnes];
  bool holds = false;
  template <int O> static constexpr int one() { return count_set(P.ahead & ((1u << O) - 1u)); }
  template <int O> TK_FN u64 fetch_one(Place<Row, i64> of_row) const {
    constexpr Kind K = kind_at(P.kinds, O);
    if constexpr (K == Kind::f32)
      return global<const u32, Row>(arguments.operand[O].data)[of_row];
    else
      return static_cast<u64>(load_integer<K>(arguments.operand[O], of_row));
  }
  template <int O> TK_FN void fetch_ones(Place<Row, i64> of_row) {
    if constexpr (P.ahead >> O != 0) {
      if constexpr ((P.ahead >> O) & 1u) next[one<O>()] = fetch_one<O>(of_row);
      fetch_ones<O + 1>(of_row);
    }
  }
  TK_FN void look_ahead(Place<Row, i64> of_row) {
    TK_UNROLL
    for (int i = 0; i < kOnes; ++i) held[i] = next[i];
    if (of_row < rows) fetch_ones<0>(of_row);
  }

  // A row that was read: its cells in shared memory, or global memory where it does not stay on chip. Nothing reads one
  // that is absent.
  template <int O> struct Read {
    static constexpr Kind K = kind_at(P.kinds, O);
    static constexpr bool kHeld = P.held && K != Kind::absent;
    static constexpr int kPieces = pieces_of_operand(P, O);
    const RowMachine& m;
    Cell held[kHeld ? P.chunks * kPieces : 1];

    TK_FN explicit Read(const RowMachine& machine) : m(machine) {
      if constexpr (kHeld)
        m.for_chunks(m.first_block, [&](Counter chunk, int) {
          TK_UNROLL
          for (Counter piece = 0; piece < kPieces; ++piece)
            held[chunk * kPieces + piece] = *m.template cell<O>(m.stage, chunk, piece);
        });
    }
    TK_FN float operator[](At i) const {
      if constexpr (K == Kind::absent) {
        return 0.0f;
      } else if constexpr (P.held) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        return Staging::template value_in<K>(held[i.chunk * kPieces + i.element / kPerPiece], i.element % kPerPiece);
      } else if constexpr (P.on_chip) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        return Staging::template value_in<K>(*m.template cell<O>(m.stage, i.chunk, piece_of(i.element, kPerPiece)),
                                             i.element % kPerPiece);
      } else {
        return m.template element<K>(elements<K>(m.arguments.operand[O], m.row), i);
      }
    }
  };
  // One element by a read of its whole vector, which the compiler makes once for all of them.
  template <Kind K> TK_FN float element(Global<const Raw<K>, Column> from, At i) const {
    const GlobalSpot<const Raw<K>> at = from + column_of(i.block, i.chunk, lane);
    if constexpr (P.guard == Guard::elements)
      return widen<K>(at[i.element]);
    else
      return load_packed<K, P.wide, kAccess<K>>(at)[i.element];
  }
  template <class O> TK_FN Read<O::index> load(O) const { return Read<O::index>(*this); }
  template <class O> TK_FN Read<O::index> read(O) const { return Read<O::index>(*this); }

  // Parameters per column. Elements of a vector are asked for in order; the first one brings them all. The compiler may
  // then keep them in registers from row to row; large blocks with column sums have none to spare.
  template <int O> struct Columns {
    static constexpr Kind K = kind_at(P.kinds, O) == Kind::absent ? Kind::f32 : kind_at(P.kinds, O);
    const RowMachine& m;
    mutable Packed<K, P.wide> vector{};
    TK_FN float operator[](At i) const {
      if constexpr (kind_at(P.kinds, O) == Kind::absent) return 0.0f;  // nothing reads it
      const Global<const Raw<K>, Column> from = global<const Raw<K>, Column>(m.arguments.operand[O].data);
      if constexpr (P.guard == Guard::elements || (P.sums != 0 && P.threads > 256)) {
        return m.template element<K>(from, i);
      } else {
        if (i.element == 0)
          vector = load_packed<K, P.wide, kAccess<K>, true>(from + column_of(i.block, i.chunk, m.lane));
        return vector[i.element];
      }
    }
  };
  template <class O> TK_FN Columns<O::index> columns(O) const { return Columns<O::index>{*this}; }

  // A row that is made: registers, or a scratch row of this team in global memory.
  struct Registers {
    float value[P.chunks * P.wide];
    TK_FN float operator[](At i) const { return value[i.chunk * P.wide + i.element]; }
    TK_FN float keep(At i, float v) { return value[i.chunk * P.wide + i.element] = v; }
  };
  struct Scratch {
    Global<float, Column> p;
    const RowMachine& m;
    TK_FN float operator[](At i) const { return p[m.column(i)]; }
    TK_FN float keep(At i, float v) const {
      p[m.column(i)] = v;
      return v;
    }
  };
  template <class O> TK_FN auto make(O) const {
    if constexpr (P.on_chip)
      return Registers{};
    else
      return Scratch{
          global<float, Workspace>(arguments.workspace) + made_begin(scratch_offset(), made_row<O::index>(), i64{n}),
          *this};
  }
  static constexpr int kMade = count_set(P.made);
  template <int O> static constexpr int made_row() { return count_set(P.made & ((1u << O) - 1u)); }
  // Where a row does not stay on chip each block of threads has its made rows and a box in the workspace.
  TK_FN i64 scratch_floats() const { return scratch_size(i64{n}, kMade, blocks(), Shape::kGroups); }
  TK_FN Place<Begin<Column>, i64> scratch_offset() const { return scratch_begin(block_index(), scratch_floats()); }

  // --- Reductions.
  TK_FN Shared<float, BoxSlot> box_on_chip() const {
    constexpr Place<Byte<BoxSlot>, int> kByte = box_byte(P);
    return shared<float, BoxSlot>(kByte);
  }
  TK_FN auto box() const {
    if constexpr (P.on_chip)
      return box_on_chip();
    else
      return global<float, Workspace>(arguments.workspace) + scratch_box(scratch_offset(), kMade, i64{n});
  }
  TK_FN int box_groups() const {
    if constexpr (P.on_chip)
      return Shape::kHeld * P.cluster * Shape::kGroups;
    else
      return blocks() * Shape::kGroups;
  }
  TK_FN Place<BoxSlot, int> box_at(Counter term, Place<Group, int> group) const {
    return box_slot(P.on_chip ? parity : Counter(0), term, group, box_groups());
  }

  // One block's value of one group of 32 threads, in every one of them.
  template <class Term> TK_FN float group_value(const Term& term, Place<ColumnBlock, int> block) const {
    float acc[P.wide];
    TK_UNROLL
    for (int e = 0; e < P.wide; ++e) acc[e] = Term::identity;
    for_chunks(block, [&](Counter chunk, int count) {
      TK_UNROLL
      for (Counter e = 0; e < P.wide; ++e)
        if (P.blind) {
          const float next = term.step(acc[e], At{block, chunk, e});
          acc[e] = count > 0 ? next : acc[e];
        } else if (inside(e, count)) {
          acc[e] = term.step(acc[e], At{block, chunk, e});
        }
    });
    TK_UNROLL
    for (int step = 1; step < P.wide; step *= 2) {
      TK_UNROLL
      for (int e = 0; e < P.wide; e += 2 * step) acc[e] = Term::join(acc[e], acc[e + step]);
    }
    float v = acc[0];
    TK_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) {
      // Both partners compute the same: addition commutes, and of two zeros a maximum may be either.
      const float other = shuffle_xor(v, mask);
      v = Term::join(v, other);
    }
    return v;
  }
  template <class Term> TK_FN void post(Counter term, Place<ColumnBlock, int> block, float v) const {
    const Place<Group, int> group = group_in_row(block, thread, Shape::kGroups, Shape::kColumnThreads);
    const Place<BoxSlot, int> slot_of_group = box_at(term, group);
    if constexpr (P.cluster > 1) {
      warp_barrier();  // all of the group have read the box's other half
      if (thread % 32 < P.cluster) mailbox_send(mailbox(), box() + slot_of_group, lane_in_team(thread), v);
    } else {
      if (thread % 32 == 0) box()[slot_of_group] = v;
    }
  }
  // The blocks' values from left to right; several are read at once, so that only the joining takes its turns.
  template <class Term> TK_FN float collect(Counter term) const {
    constexpr int kMost = P.on_chip ? 16 : 4;
    constexpr int kAtOnce = P.on_chip && Shape::kHeld * P.cluster < kMost ? Shape::kHeld * P.cluster : kMost;
    float total = Term::identity;
    for (Counter first = 0; first < blocks(); first += kAtOnce) {
      float v[kAtOnce][Shape::kGroups];
      TK_UNROLL
      for (Counter b = 0; b < kAtOnce; ++b) {
        TK_UNROLL
        for (Counter g = 0; g < Shape::kGroups; ++g) {
          v[b][g] = 0.0f;
          if (first + b < blocks()) v[b][g] = box()[box_at(term, group_of_block(first, b, g, Shape::kGroups))];
        }
      }
      TK_UNROLL
      for (int b = 0; b < kAtOnce; ++b) {
        TK_UNROLL
        for (int step = 1; step < Shape::kGroups; step *= 2) {
          TK_UNROLL
          for (int g = 0; g < Shape::kGroups; g += 2 * step) v[b][g] = Term::join(v[b][g], v[b][g + step]);
        }
        if (first + b < blocks()) total = first + b == 0 ? v[b][0] : Term::join(total, v[b][0]);
      }
    }
    return total;
  }
  // Blocks of a cluster exchange values through a mailbox per parity. A block sends to one of them again only when
  // it has everybody's values of the exchange between, which they sent after reading this one's.
  mutable u32 exchanges = 0;
  mutable float picked = 0.0f;
  mutable bool picking = false;                 // the next exchange brings it
  TK_FN Shared<float, Counted> picks() const {  // behind the box, one per parity
    return box_on_chip() + picks_begin(box_groups());
  }
  TK_FN Shared<u64, Counted> mailboxes() const { return shared<u64, Counted>(mailboxes_byte(P)); }
  TK_FN Mailbox mailbox() const { return mailboxes() + parity; }
  TK_FN void open_mailboxes() const {
    if (thread_index() == 0) {
      mailbox_open(mailboxes() + 0);
      mailbox_open(mailboxes() + 1);
    }
    cluster_barrier();
  }
  // After this every value that was posted can be read.
  template <int terms> TK_FN void meet() const {
    if constexpr (P.cluster > 1) {
      if (thread_index() == 0) mailbox_expect(mailbox(), terms * box_groups() * 4 + (picking ? 4 : 0));
      mailbox_await(mailbox(), exchanges / 2 % 2);
      exchanges += 1;
      if (picking) picked = picks()[parity];
      picking = false;
    } else {
      barrier();
    }
  }
  template <class... Term> TK_FN Reduced<float, sizeof...(Term)> reduce(const Term&... term) const {
    if constexpr (Shape::kOneGroup) {
      const Reduced<float, sizeof...(Term)> all{group_value(term, held_block(thread, P.wide))...};
      warp_barrier();  // what was read of the row is read again: it does not fit the registers
      return all;
    } else {
      if constexpr (!P.on_chip) barrier();  // the box of the last reduction has been read
      for_blocks([&](Place<ColumnBlock, int> block) {
        Counter t = 0;
        ((post<Term>(t++, block, group_value(term, block))), ...);
      });
      meet<sizeof...(Term)>();
      Counter t = 0;
      const Reduced<float, sizeof...(Term)> all{collect<Term>(t++)...};
      parity =
          other_side(parity);  // the next reduction posts elsewhere, and the one after it only behind another barrier
      return all;
    }
  }
  template <class F> TK_FN float sum(F f) const { return reduce(Sum<F>{f}).first; }
  template <class F> TK_FN float sum_fma(F f) const { return reduce(SumFma<F>{f}).first; }
  template <class F> TK_FN float max(F f) const { return reduce(Max<F>{f}).first; }

  // One element of a row that was read, before anything is stored; 0 where there is no such column. A group and a
  // cluster have it from its owner's cell: the row may be written over, and neither shuffles nor mail order memory.
  template <int O> TK_FN auto pick(const Read<O>&, i64 j) const {
    constexpr Kind K = kind_at(P.kinds, O);
    const bool exists = j >= 0 && j < n;
    if constexpr (Shape::kOneGroup || P.cluster > 1) {
      const auto place = place_of_column(given_column(static_cast<int>(exists ? j : 0), n));
      const Counter owner = owner_of_lane(place.lane, P.wide);
      float v = 0.0f;
      const bool mine = exists && place.block == first_block && thread % Shape::kColumnThreads == owner;
      if (mine) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        const Counter e = element_of_lane(place.lane, P.wide);
        const auto from = cast<Raw<K>>(this->template cell<O>(stage, place.chunk, piece_of(e, kPerPiece)));
        v = widen<K>(from[place_in_piece(e, kPerPiece)]);
      }
      if constexpr (Shape::kOneGroup) {
        return shuffle(v, owner);
      } else {
        if (mine)
          for (Counter to = 0; to < P.cluster; ++to) mailbox_send(mailbox(), picks() + parity, to, v);
        picking = exists;
        picked = 0.0f;
        return Picked{*this};
      }
    } else {  // before the next reduction's barrier, so before any store of this row
      float v = 0.0f;
      if (exists) v = widen<K>(elements<K>(arguments.operand[O], row)[given_column(j, i64{n})]);
      return v;
    }
  }
  // What the owner sent, which arrives with the next reduction. Where it is asked for before there is one for it: every
  // group must post, or a block would send again before the others have read.
  struct Picked {
    const RowMachine& m;
    TK_FN operator float() const {  // NOLINT(google-explicit-constructor)
      if (m.picking) m.sum([](At) { return 0.0f; });
      return m.picked;
    }
  };

  // --- Results; those that are absent are not made.
  template <class O, class F> TK_FN void store_vector(O, At i, Place<Existing, int> count, F f) const {
    constexpr Kind K = kind<O>;
    float v[P.wide];
    TK_UNROLL
    for (Counter e = 0; e < P.wide; ++e) {
      v[e] = 0.0f;
      if (inside(e, count)) v[e] = f(At{i.block, i.chunk, e});
    }
    const GlobalSpot<Raw<K>> to = elements<K>(arguments.operand[O::index], row) + column_of(i.block, i.chunk, lane);
    if constexpr (P.guard == Guard::elements)
      store_some<K, P.wide>(to, pack<K, P.wide>(v), count);
    else if (!P.blind || count > 0)
      store_packed<K, P.wide, kAccess<K>>(to, pack<K, P.wide>(v));
  }
  template <class O, class F> TK_FN void store(O out, F f) const {
    if constexpr (kind<O> != Kind::absent)
      for_blocks([&](Place<ColumnBlock, int> block) {
        for_chunks(block, [&](Counter chunk, Place<Existing, int> count) {
          store_vector(out, At{block, chunk, 0}, count, f);
        });
      });
  }
  // Everywhere f, in column j g: the one vector that holds j asks each element.
  template <class O, class F, class G> TK_FN void store_but(O out, i64 j, G g, F f) const {
    if constexpr (kind<O> != Kind::absent)
      for_blocks([&](Place<ColumnBlock, int> block) {
        for_chunks(block, [&](Counter chunk, Place<Existing, int> count) {
          const i64 away = j - column_of(block, chunk, lane);
          if (away >= 0 && away < P.wide)
            store_vector(out, At{block, chunk, 0}, count, [&](At i) { return i.element == away ? g(i) : f(i); });
          else
            store_vector(out, At{block, chunk, 0}, count, f);
        });
      });
  }
  TK_FN bool leads() const { return thread == 0 && rank == 0; }
  template <class O> TK_FN void put(O, float v) const {
    if constexpr (kind<O> != Kind::absent)
      if (leads()) global<Raw<kind<O>>, Row>(arguments.operand[O::index].data)[row] = narrow<kind<O>>(v);
  }

  // --- Column sums: chains of 32 rows in registers, or in the partial row itself.
  TK_FN Place<Begin<Workspace>, i64> behind_scratch() const {
    return scratch_end(P.on_chip ? 0 : grid_size(), scratch_floats());
  }
  TK_FN Global<float, Column> partial_row(Counter which, Place<Row, i64> chain) const {
    const i64 chains = pieces_of(rows, kChain);
    const Place<Begin<Workspace>, i64> behind = behind_scratch();
    return global<float, Workspace>(arguments.workspace) + partial_begin_behind(behind, which, chain, chains, i64{n});
  }
  TK_FN Global<float, Row> partial_values() const {
    const Place<Begin<Workspace>, i64> behind = behind_scratch();
    return global<float, Workspace>(arguments.workspace) + values_begin(behind);
  }
  template <int which, class Term> TK_FN void column_chain(const Term& term) {
    for_blocks([&](Place<ColumnBlock, int> block) {
      for_chunks(block, [&](Counter chunk, int count) {
        TK_UNROLL
        for (Counter e = 0; e < P.wide; ++e)
          if (inside(e, count)) {
            const At i{block, chunk, e};
            if constexpr (P.on_chip) {
              float& acc = sums[which][chunk * P.wide + e];
              acc = term.step(acc, i);
            } else {
              const Global<float, Column> p = partial_row(which, chain_of(row));
              const float before = row % kChain == 0 ? 0.0f : float(p[column(i)]);
              p[column(i)] = term.step(before, i);
            }
          }
      });
    });
  }
  // Any number of outputs, each followed by its term; one that is absent is not summed.
  template <class O, class Term, class... More> TK_FN void column_sums(O, const Term& term, const More&... more) {
    if constexpr ((P.sums >> O::index) & 1u) column_chain<sum_of_operand<O::index>()>(term);
    if constexpr (sizeof...(More) > 0) column_sums(more...);
  }
  template <int O> static constexpr int sum_of_operand() { return count_set(P.sums & ((1u << O) - 1u)); }
  TK_FN void clear_sums() {
    TK_UNROLL
    for (int i = 0; i < kSummed; ++i) {
      TK_UNROLL
      for (int which = 0; which < kSums; ++which) sums[which][i] = 0.0f;
    }
  }
  TK_FN void write_sums(Place<Row, i64> chain) const {
    if constexpr (P.on_chip)
      for_chunks(first_block, [&](Counter chunk, int count) {
        TK_UNROLL
        for (Counter which = 0; which < kSums; ++which) {
          const GlobalSpot<float> to = partial_row(which, chain) + column_of(first_block, chunk, lane);
          TK_UNROLL
          for (Counter e = 0; e < P.wide; ++e)
            if (inside(e, count)) to[e] = sums[which][chunk * P.wide + e];
        }
      });
  }

  // A few words for all threads, where the box was.
  TK_FN Shared<u32, Counted> words() const { return shared<u32, Counted>(words_byte(P)); }
  // --- After every row: the last block to finish does this with all its threads.
  TK_FN bool last_block() const {
    const Shared<u32, Counted> answer = words();
    fence();
    barrier();
    if (thread_index() == 0) answer[0] = atomic_add(global_one<u32>(arguments.counter), 1);
    barrier();
    const bool last = answer[0] + 1 == static_cast<u32>(grid_size());
    fence();
    return last;
  }
  // The column rule over one value per row.
  template <class O> TK_FN float total(O) const {
    static_assert(kind<O> == Kind::f32);
    Global<const float, Row> from = global<const float, Row>(arguments.operand[O::index].data);
    Global<float, Row> to = partial_values();
    for (i64 count = rows; count > 1;) {
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
    return rows == 1 ? 0.0f + from[given_row(i64{0}, rows)] : float(from[given_row(i64{0}, rows)]);
  }
  template <class O> TK_FN void put_once(O, float v) const {
    if constexpr (kind<O> != Kind::absent)
      if (thread_index() == 0) global<u32, Counted>(arguments.operand[O::index].data)[0] = narrow<kind<O>>(v);
  }
  template <class O> TK_FN void put_once(O, i64 v) const {
    if constexpr (kind<O> != Kind::absent)
      if (thread_index() == 0) global<u64, Counted>(arguments.operand[O::index].data)[0] = static_cast<u64>(v);
  }

  // Rows from `row` on, `step` apart, each while the next ones are on their way.
  TK_FN void run(Place<Row, i64> first, i64 end, Place<Step<Row>, i64> step) {
    stage = 0;
    TK_UNROLL
    for (Counter s = 0; s < P.stages; ++s) fetch_row(row_ahead(first, s, step, end, rows), s);
    holds = true;
    if (first < end) fetch_ones<0>(first);
    for (row = first; row < end; row += step) {
      look_ahead(row_ahead(row, 1, step, end, rows));
      if constexpr (P.on_chip) copy_wait<P.stages - 1>();
      D::row(*this);
      fetch_row(row_ahead(row, P.stages, step, end, rows), stage);
      stage = next_slot(stage, P.stages);
    }
    holds = false;
  }
};

}  // namespace tokitai::device

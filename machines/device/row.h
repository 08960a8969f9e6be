// The row pattern on a GPU. A team of threads holds one row: 256 / wide threads per block of 2048 columns, each
// with its lanes' whole chains, so every reduction follows the canonical order whatever the launch looks like.
// Rows arrive through shared memory, each thread copying for itself while it works on an earlier row. A row too
// long for the chip is read again for every pass (on_chip is false); one that fits a few blocks of a cluster is
// shared by them.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/place_row.h"
#include "machines/device/row_shape.h"
#include "patterns/names.h"

namespace tokitai::device {

template <class D, RowPlan P> struct RowMachine : D::Names {
  using Shape = RowShape<P>;
  template <class O> static constexpr Kind kind = kind_at(P.kinds, O::index);
  using Cell = Words<Shape::kPiece / 4>;

  const Arguments& arguments;
  const i64 rows;
  const int n;            // columns
  const int thread;       // in the team
  const int team;         // which of the block's
  const int rank;         // which block of the cluster
  const int lane;         // the first of this thread's
  const int first_block;  // of columns
  i64 row = 0;
  int stage = 0;
  mutable int parity = 0;
  static constexpr int kSums = P.column_sums && P.on_chip ? P.chunks * P.wide : 1;
  float sums[2][kSums];

  TK_FN explicit RowMachine(const Arguments& a)
      : arguments(a),
        rows(a.extent[0]),
        n(P.cols > 0 ? P.cols : static_cast<int>(a.extent[1])),
        thread(thread_in_team(thread_index(), Shape::kTeam)),
        team(team_of(thread_index(), Shape::kTeam)),
        rank(P.cluster > 1 ? cluster_rank() : 0),
        lane(first_lane(thread, P.wide)),
        first_block(first_block_of(rank, thread, Shape::kHeld, P.wide)) {}

  // --- Facts.
  TK_FN float cols() const { return static_cast<float>(n); }
  TK_FN i64 width() const { return n; }
  template <int I> TK_FN float value(Scalar<I>) const {
    if constexpr ((P.zeros >> I) & 1u)
      return 0.0f;
    else
      return arguments.scalar[I];
  }
  template <int I> TK_FN i64 value(IntegerOption<I>) const { return arguments.option[I]; }
  template <int I> TK_FN bool has(IntegerOption<I>) const { return (arguments.options_set >> I) & 1u; }
  template <class O> TK_FN float number(O) const {
    static_assert(kind<O> == Kind::f32);
    return from_bits(holds ? static_cast<u32>(held[one<O::index>()]) : static_cast<u32>(fetch_one<O::index>(row)));
  }
  template <class O> TK_FN i64 integer(O) const {
    return static_cast<i64>(holds ? held[one<O::index>()] : fetch_one<O::index>(row));
  }

  // --- One value per row: the next row's are read while this one is worked on.
  static constexpr int kOnes = count_set(P.ahead) > 0 ? count_set(P.ahead) : 1;
  u64 held[kOnes], next[kOnes];
  bool holds = false;
  template <int O> static constexpr int one() { return count_set(P.ahead & ((1u << O) - 1u)); }
  template <int O> TK_FN u64 fetch_one(i64 of_row) const {
    constexpr Kind K = kind_at(P.kinds, O);
    if constexpr (K == Kind::f32)
      return global<const u32>(arguments.operand[O].data)[of_row];
    else
      return static_cast<u64>(load_integer<K>(arguments.operand[O], of_row));
  }
  template <int O> TK_FN void fetch_ones(i64 of_row) {
    if constexpr (O < 8) {
      if constexpr ((P.ahead >> O) & 1u) next[one<O>()] = fetch_one<O>(of_row);
      fetch_ones<O + 1>(of_row);
    }
  }
  TK_FN void look_ahead(i64 of_row) {
    TK_UNROLL
    for (int i = 0; i < kOnes; ++i) held[i] = next[i];
    if (of_row < rows) fetch_ones<0>(of_row);
  }

  // --- Which elements exist.
  TK_FN int blocks() const { return column_blocks(n); }
  TK_FN int column(At i) const { return column_of(i.block, i.chunk, lane + i.element); }
  // How many of the vector's elements exist; `wide` and 0 are the usual answers.
  TK_FN int existing(int block, int chunk) const {
    if constexpr (P.guard == Guard::none) return P.wide;
    const int left = n - column_of(block, chunk, lane);
    return TK_AS_PROVED(left >= P.wide ? P.wide : left > 0 ? left : 0, tokitai::device::existing(left, P.wide));
  }
  // Calls f(block) for the blocks of columns this thread works on.
  template <class F> TK_FN void for_blocks(F f) const {
    if constexpr (P.on_chip) {
      f(first_block);
    } else {
      for (int block = first_block; block < blocks(); block += Shape::kHeld) f(block);
    }
  }
  // Calls f(chunk, count) for the vectors of a block that have any element; where the plan is blind, for all of them:
  // every thread then runs the same text, and no barrier waits for the slower one of the last block. Otherwise a whole
  // block is asked for once, so that its vectors need not be.
  template <class F> TK_FN void for_chunks(int block, F f) const {
    if (P.guard == Guard::none || (!P.blind && P.chunks == kChunks && whole_block(block, n))) {
      TK_UNROLL
      for (int chunk = 0; chunk < P.chunks; ++chunk) f(chunk, P.wide);
    } else {
      TK_UNROLL
      for (int chunk = 0; chunk < P.chunks; ++chunk) {
        const int count = existing(block, chunk);
        if (P.blind || count > 0) f(chunk, count);
      }
    }
  }
  static TK_FN bool inside(int element, int count) { return P.guard != Guard::elements || element < count; }

  // --- Rows on chip.
  template <int O> static constexpr int slot() { return count_set(P.staged & ((1u << O) - 1u)); }
  TK_FN Shared<Cell> cell(int which_stage, int operand, int chunk, int piece) const {
    return shared<Cell>(0) + staged_cell(which_stage, operand, chunk, piece, thread_index(), Shape::kStaged, P.chunks,
                                         Shape::kPieces, P.threads);
  }
  // Sends for a row's elements of this thread.
  template <int O> TK_FN void fetch(i64 from_row, int into) const {
    constexpr Kind K = kind_at(P.kinds, O);
    const Global<const Raw<K>> from = elements<K>(arguments.operand[O], from_row);
    for_chunks(first_block, [&](int chunk, int count) {
      if (P.blind && count == 0) return;
      const Global<const Raw<K>> at = from + column_of(first_block, chunk, lane);
      if constexpr (P.access < 4 || P.guard == Guard::elements) {
        const Packed<K, P.wide> p = load_some<K, P.wide>(at, count);
        TK_UNROLL
        for (int piece = 0; piece < Shape::kPieces; ++piece) {
          Cell c;
          TK_UNROLL
          for (int w = 0; w < Shape::kPiece / 4; ++w) c.word[w] = p.word[piece * (Shape::kPiece / 4) + w];
          *cell(into, slot<O>(), chunk, piece) = c;
        }
      } else {
        constexpr int kBytes = P.access < Shape::kPiece ? P.access : Shape::kPiece;
        using Part = Words<kBytes / 4>;
        TK_UNROLL
        for (int piece = 0; piece < Shape::kPieces; ++piece) {
          TK_UNROLL
          for (int part = 0; part < Shape::kPiece / kBytes; ++part)
            copy_async<kBytes>(cast<Part>(cell(into, slot<O>(), chunk, piece)) + part,
                               cast<const Part>(at) + (piece * (Shape::kPiece / kBytes) + part));
        }
      }
    });
  }
  // Where vectors that do not exist are worked on: they are zeros.
  TK_FN void clear_missing() const {
    if constexpr (P.blind)
      for_chunks(first_block, [&](int chunk, int count) {
        if (count > 0) return;
        for (int s = 0; s < P.stages; ++s)
          for (int operand = 0; operand < Shape::kStaged; ++operand)
            for (int piece = 0; piece < Shape::kPieces; ++piece) *cell(s, operand, chunk, piece) = Cell{};
      });
  }
  TK_FN void fetch_row(i64 from_row, int into) const {
    if constexpr (P.on_chip) {
      if (from_row < rows) fetch_operands<0>(from_row, into);
      copy_commit();
    }
  }
  template <int O> TK_FN void fetch_operands(i64 from_row, int into) const {
    if constexpr (O < 8) {
      if constexpr ((P.staged >> O) & 1u) fetch<O>(from_row, into);
      fetch_operands<O + 1>(from_row, into);
    }
  }

  template <Kind K> static TK_FN float value_in(const Cell& c, int e) {
    if constexpr (bytes_of(K) == 2)
      return widen<K>(static_cast<u16>(c.word[e / 2] >> (16 * (e % 2))));
    else
      return widen<K>(c.word[e]);
  }
  // A row that was read: its cells in shared memory, or global memory where it does not stay on chip.
  template <int O> struct Read {
    const RowMachine& m;
    Cell held[P.held ? P.chunks * Shape::kPieces : 1];

    TK_FN explicit Read(const RowMachine& machine) : m(machine) {
      if constexpr (P.held)
        m.for_chunks(m.first_block, [&](int chunk, int) {
          TK_UNROLL
          for (int piece = 0; piece < Shape::kPieces; ++piece)
            held[chunk * Shape::kPieces + piece] = *m.cell(m.stage, slot<O>(), chunk, piece);
        });
    }
    TK_FN float operator[](At i) const {
      constexpr Kind K = kind_at(P.kinds, O);
      if constexpr (P.held) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        return value_in<K>(held[i.chunk * Shape::kPieces + i.element / kPerPiece], i.element % kPerPiece);
      } else if constexpr (P.on_chip) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        return value_in<K>(*m.cell(m.stage, slot<O>(), i.chunk, i.element / kPerPiece), i.element % kPerPiece);
      } else {
        return m.template element<K>(elements<K>(m.arguments.operand[O], m.row), i);
      }
    }
  };
  // One element by a read of its whole vector, which the compiler makes once for all of them.
  template <Kind K> TK_FN float element(Global<const Raw<K>> from, At i) const {
    const Global<const Raw<K>> at = from + column_of(i.block, i.chunk, lane);
    if constexpr (P.guard == Guard::elements)
      return widen<K>(at[i.element]);
    else
      return load_packed<K, P.wide, P.access>(at)[i.element];
  }
  template <class O> TK_FN Read<O::index> load(O) const { return Read<O::index>(*this); }
  template <class O> TK_FN Read<O::index> read(O) const { return Read<O::index>(*this); }

  // Parameters per column. Elements of a vector are asked for in order; the first one brings them all. The compiler may
  // then keep them in registers from row to row; large blocks with column sums have none to spare.
  template <int O> struct Columns {
    static constexpr Kind K = kind_at(P.kinds, O);
    const RowMachine& m;
    mutable Packed<K, P.wide> vector{};
    TK_FN float operator[](At i) const {
      const Global<const Raw<K>> from = global<const Raw<K>>(m.arguments.operand[O].data);
      if constexpr (P.guard == Guard::elements || (P.column_sums && P.threads > 256)) {
        return m.template element<K>(from, i);
      } else {
        if (i.element == 0) vector = load_packed<K, P.wide, P.access, true>(from + column_of(i.block, i.chunk, m.lane));
        return vector[i.element];
      }
    }
  };
  template <class O> TK_FN Columns<O::index> columns(O) const { return Columns<O::index>{*this}; }

  // A row that is made: registers, or this team's scratch row in global memory.
  struct Registers {
    float value[P.chunks * P.wide];
    TK_FN float operator[](At i) const { return value[i.chunk * P.wide + i.element]; }
    TK_FN float keep(At i, float v) { return value[i.chunk * P.wide + i.element] = v; }
  };
  struct Scratch {
    Global<float> p;
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
      return Scratch{global<float>(arguments.workspace) + scratch_offset(), *this};
  }
  // Where a row does not stay on chip each block of threads has a box and a made row in the workspace.
  TK_FN i64 scratch_floats() const { return scratch_size(i64{n}, blocks(), Shape::kGroups); }
  TK_FN i64 scratch_offset() const { return block_index() * scratch_floats(); }

  // --- Reductions.
  TK_FN auto box() const {
    if constexpr (P.on_chip)
      return shared<float>(Shape::kBoxAt);
    else
      return global<float>(arguments.workspace) + (scratch_offset() + n);
  }
  TK_FN int box_groups() const {
    if constexpr (P.on_chip)
      return Shape::kHeld * P.cluster * Shape::kGroups;
    else
      return blocks() * Shape::kGroups;
  }
  TK_FN int box_at(int term, int group) const { return box_slot(P.on_chip ? parity : 0, term, group, box_groups()); }

  // One block's value of one group of 32 threads, in every one of them.
  template <class Term> TK_FN float group_value(const Term& term, int block) const {
    float acc[P.wide];
    TK_UNROLL
    for (int e = 0; e < P.wide; ++e) acc[e] = Term::identity;
    for_chunks(block, [&](int chunk, int count) {
      TK_UNROLL
      for (int e = 0; e < P.wide; ++e)
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
  template <class Term> TK_FN void post(int term, int block, float v) const {
    const int group = group_in_row(block, thread, Shape::kGroups, Shape::kColumnThreads);
    const int slot_of_group = box_at(term, group);
    if constexpr (P.cluster > 1) {
      // Mail orders nothing but itself. What this group read of other blocks' columns has arrived before it sends:
      // the value is used here, and a group's instructions begin in order.
      picks()[thread_index()] = picked;
      warp_barrier();
      if (thread % 32 < P.cluster) mailbox_send(mailbox(), box() + slot_of_group, thread % 32, v);
    } else {
      if (thread % 32 == 0) box()[slot_of_group] = v;
    }
  }
  // The blocks' values from left to right; several are read at once, so that only the joining takes its turns.
  template <class Term> TK_FN float collect(int term) const {
    constexpr int kMost = P.on_chip ? 16 : 4;
    constexpr int kAtOnce = P.on_chip && Shape::kHeld * P.cluster < kMost ? Shape::kHeld * P.cluster : kMost;
    float total = Term::identity;
    for (int first = 0; first < blocks(); first += kAtOnce) {
      float v[kAtOnce][Shape::kGroups];
      TK_UNROLL
      for (int b = 0; b < kAtOnce; ++b) {
        TK_UNROLL
        for (int g = 0; g < Shape::kGroups; ++g) {
          v[b][g] = 0.0f;
          if (first + b < blocks()) v[b][g] = box()[box_at(term, (first + b) * Shape::kGroups + g)];
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
  TK_FN Shared<float> picks() const { return shared<float>(Shape::kBoxAt) + 6 * box_groups(); }  // behind the box
  TK_FN Mailbox mailbox() const { return shared<u64>(Shape::kStagedBytes) + parity; }
  TK_FN void open_mailboxes() const {
    if (thread_index() == 0) {
      mailbox_open(shared<u64>(Shape::kStagedBytes));
      mailbox_open(shared<u64>(Shape::kStagedBytes) + 1);
    }
    cluster_barrier();
  }
  // After this every value that was posted can be read.
  template <int terms> TK_FN void meet() const {
    if constexpr (P.cluster > 1) {
      if (thread_index() == 0) mailbox_expect(mailbox(), terms * box_groups() * 4);
      mailbox_await(mailbox(), exchanges / 2 % 2);
      exchanges += 1;
    } else {
      barrier();
    }
  }
  template <class... Term> TK_FN Reduced<float, sizeof...(Term)> reduce(const Term&... term) const {
    if constexpr (Shape::kOneGroup) {
      const Reduced<float, sizeof...(Term)> all{group_value(term, 0)...};
      warp_barrier();  // what was read of the row is read again: it does not fit the registers
      return all;
    } else {
      if constexpr (!P.on_chip) barrier();  // the box of the last reduction has been read
      for_blocks([&](int block) {
        int t = 0;
        ((post<Term>(t++, block, group_value(term, block))), ...);
      });
      meet<sizeof...(Term)>();
      int t = 0;
      const Reduced<float, sizeof...(Term)> all{collect<Term>(t++)...};
      parity ^= 1;  // the next reduction posts elsewhere, and the one after it only behind another barrier
      return all;
    }
  }
  template <class F> TK_FN float sum(F f) const { return reduce(Sum<F>{f}).first; }
  template <class F> TK_FN float sum_fma(F f) const { return reduce(SumFma<F>{f}).first; }
  template <class F> TK_FN float max(F f) const { return reduce(Max<F>{f}).first; }

  // One element of a row that was read, before anything is stored; 0 where there is no such column.
  template <int O> TK_FN float pick(const Read<O>&, i64 j) const {
    constexpr Kind K = kind_at(P.kinds, O);
    const bool exists = j >= 0 && j < n;
    if constexpr (Shape::kOneGroup) {
      // From the owner's cell: the row may be written over, and nothing orders a group's memory accesses.
      const auto place = place_of_column(static_cast<int>(exists ? j : 0));
      const int owner = owner_of_lane(place.lane, P.wide);
      float v = 0.0f;
      if (thread == owner) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        const int e = element_of_lane(place.lane, P.wide);
        const auto from = cast<Raw<K>>(cell(stage, slot<O>(), place.chunk, e / kPerPiece));
        v = widen<K>(from[e % kPerPiece]);
      }
      v = shuffle(v, owner);
      return exists ? v : 0.0f;
    } else {
      // Before the next reduction's barrier or mail, so before any store of this row.
      float v = 0.0f;
      if (exists) v = widen<K>(elements<K>(arguments.operand[O], row)[j]);
      picked = v;
      return v;
    }
  }

  // --- Results.
  template <class O, class F> TK_FN void store_vector(O, At i, int count, F f) const {
    constexpr Kind K = kind<O>;
    float v[P.wide];
    TK_UNROLL
    for (int e = 0; e < P.wide; ++e) {
      v[e] = 0.0f;
      if (inside(e, count)) v[e] = f(At{i.block, i.chunk, e});
    }
    const Global<Raw<K>> to = elements<K>(arguments.operand[O::index], row) + column_of(i.block, i.chunk, lane);
    if constexpr (P.guard == Guard::elements)
      store_some<K, P.wide>(to, pack<K, P.wide>(v), count);
    else if (!P.blind || count > 0)
      store_packed<K, P.wide, P.access>(to, pack<K, P.wide>(v));
  }
  template <class O, class F> TK_FN void store(O out, F f) const {
    for_blocks([&](int block) {
      for_chunks(block, [&](int chunk, int count) { store_vector(out, At{block, chunk, 0}, count, f); });
    });
  }
  // Everywhere f, in column j g: the one vector that holds j asks each element.
  template <class O, class F, class G> TK_FN void store_but(O out, i64 j, G g, F f) const {
    for_blocks([&](int block) {
      for_chunks(block, [&](int chunk, int count) {
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
    if (leads()) global<Raw<kind<O>>>(arguments.operand[O::index].data)[row] = narrow<kind<O>>(v);
  }

  // --- Column sums: chains of 32 rows in registers, or in the partial row itself.
  TK_FN Global<float> partial_row(int which, i64 chain) const {
    const i64 chains = pieces_of(rows, kChain);
    const i64 behind = P.on_chip ? 0 : grid_size() * scratch_floats();
    return global<float>(arguments.workspace) + (behind + partial_begin(which, chain, chains, i64{n}));
  }
  template <int which, class Term> TK_FN void column_chain(const Term& term) {
    for_blocks([&](int block) {
      for_chunks(block, [&](int chunk, int count) {
        TK_UNROLL
        for (int e = 0; e < P.wide; ++e)
          if (inside(e, count)) {
            const At i{block, chunk, e};
            if constexpr (P.on_chip) {
              float& acc = sums[which][chunk * P.wide + e];
              acc = term.step(acc, i);
            } else {
              const Global<float> p = partial_row(which, row / kChain);
              const float before = row % kChain == 0 ? 0.0f : float(p[column(i)]);
              p[column(i)] = term.step(before, i);
            }
          }
      });
    });
  }
  template <class A, class TermA, class B, class TermB> TK_FN void column_sums(A, const TermA& a, B, const TermB& b) {
    static_assert(B::index == A::index + 1, "the second kernel finds the sums in the contract's order");
    column_chain<0>(a);
    column_chain<1>(b);
  }
  TK_FN void clear_sums() {
    TK_UNROLL
    for (int i = 0; i < kSums; ++i) sums[0][i] = sums[1][i] = 0.0f;
  }
  TK_FN void write_sums(i64 chain) const {
    if constexpr (P.on_chip)
      for_chunks(first_block, [&](int chunk, int count) {
        TK_UNROLL
        for (int which = 0; which < 2; ++which) {
          const Global<float> to = partial_row(which, chain) + column_of(first_block, chunk, lane);
          TK_UNROLL
          for (int e = 0; e < P.wide; ++e)
            if (inside(e, count)) to[e] = sums[which][chunk * P.wide + e];
        }
      });
  }

  // --- After every row: the last block to finish does this with all its threads.
  TK_FN bool last_block() const {
    const Shared<u32> answer = shared<u32>(Shape::kBoxAt);
    fence();
    barrier();
    if (thread_index() == 0) answer[0] = atomic_add(global<u32>(arguments.counter), 1);
    barrier();
    const bool last = answer[0] + 1 == static_cast<u32>(grid_size());
    barrier();
    fence();
    return last;
  }
  // The column rule over one value per row.
  template <class O> TK_FN float total(O) const {
    static_assert(kind<O> == Kind::f32);
    Global<const float> from = global<const float>(arguments.operand[O::index].data);
    Global<float> to = partial_row(0, 0);
    for (i64 count = rows; count > 1;) {
      const i64 chains = pieces_of(count, kChain);
      for (i64 chain = thread_index(); chain < chains; chain += P.threads) {
        const i64 end = chain_end(chain, count);
        float acc = 0.0f;
        for (i64 r = chain_begin(chain); r < end; ++r) acc = acc + from[r];
        to[chain] = acc;
      }
      barrier();
      from = to;
      to = to + chains;
      count = chains;
    }
    return rows == 1 ? 0.0f + from[0] : float(from[0]);
  }
  template <class F> TK_FN i64 count_rows(F counted) {
    u32 mine = 0;
    for (row = thread_index(); row < rows; row += P.threads) mine += counted(*this) ? 1u : 0u;
    TK_UNROLL
    for (int mask = 1; mask < 32; mask *= 2) mine += shuffle_xor(mine, mask);
    const Shared<u32> groups = shared<u32>(Shape::kBoxAt);
    if (thread_index() % 32 == 0) groups[thread_index() / 32] = mine;
    barrier();
    i64 count = 0;
    for (int g = 0; g < P.threads / 32; ++g) count += groups[g];
    return count;
  }
  template <class O> TK_FN void put_once(O, float v) const {
    if constexpr (kind<O> != Kind::absent)
      if (thread_index() == 0) global<u32>(arguments.operand[O::index].data)[0] = narrow<kind<O>>(v);
  }
  template <class O> TK_FN void put_once(O, i64 v) const {
    if constexpr (kind<O> != Kind::absent)
      if (thread_index() == 0) global<u64>(arguments.operand[O::index].data)[0] = static_cast<u64>(v);
  }

  // Rows from `row` on, `step` apart, each while the next ones are on their way.
  TK_FN void run(i64 first, i64 end, i64 step) {
    stage = 0;
    TK_UNROLL
    for (int s = 0; s < P.stages; ++s) fetch_row(first + s * step < end ? first + s * step : rows, s);
    holds = true;
    if (first < end) fetch_ones<0>(first);
    for (row = first; row < end; row += step) {
      look_ahead(row + step < end ? row + step : rows);
      if constexpr (P.on_chip) copy_wait<P.stages - 1>();
      D::row(*this);
      const i64 next = row + P.stages * step;
      fetch_row(next < end ? next : rows, stage);
      stage = stage + 1 == P.stages ? 0 : stage + 1;
    }
    holds = false;
  }
};

}  // namespace tokitai::device

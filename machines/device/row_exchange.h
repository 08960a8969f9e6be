// The reductions of the row pattern, and how the groups and blocks that share a row exchange what they found.
#pragma once
#include "machines/device/row_values.h"

namespace tokitai::device {

template <class D, RowPlan P> struct RowExchange : RowValues<D, P> {
  using Values = RowValues<D, P>;
  using Shape = RowShape<P>;
  using Values::arguments, Values::n, Values::thread, Values::first_block, Values::row, Values::stage, Values::parity;
  using Values::blocks, Values::for_blocks, Values::for_chunks, Values::inside, Values::kMade, Values::scratch_offset;
  template <int O> using Read = typename Values::template Read<O>;

  TK_FN explicit RowExchange(const Arguments& a) : Values(a) {}

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
    const RowExchange& m;
    TK_FN operator float() const {  // NOLINT(google-explicit-constructor)
      if (m.picking) m.sum([](At) { return 0.0f; });
      return m.picked;
    }
  };
};

}  // namespace tokitai::device

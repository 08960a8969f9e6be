// The reductions of the row pattern, and how the groups and blocks that share a row exchange what they found.
#pragma once
#include "machines/device/row_values.h"

namespace tokitai::device {

template <class D, RowPlan P> struct RowExchange : RowValues<D, P> {
  using Values = RowValues<D, P>;
  using Shape = RowShape<P>;
  using Values::arguments_, Values::n_, Values::thread_, Values::first_block_, Values::row_, Values::stage_,
      Values::parity_;
  using Values::blocks_, Values::for_blocks_, Values::for_chunks_, Values::inside_, Values::kMade,
      Values::scratch_offset_;
  template <int O> using Read = typename Values::template Read<O>;

  TK_FN explicit RowExchange(const Arguments& a) : Values(a) {}

  TK_FN Shared<float, BoxSlot> box_on_chip_() const {
    constexpr Place<Byte<BoxSlot>, int> kByte = box_byte(P);
    return shared<float, BoxSlot>(kByte);
  }
  TK_FN auto box_() const {
    if constexpr (P.on_chip)
      return box_on_chip_();
    else
      return global<float, Workspace>(arguments_.workspace) + scratch_box(scratch_offset_(), kMade, i64{n_});
  }
  TK_FN int box_groups_() const {
    if constexpr (P.on_chip)
      return Shape::kHeld * P.cluster * Shape::kGroups;
    else
      return blocks_() * Shape::kGroups;
  }
  TK_FN Place<BoxSlot, int> box_at_(Counter term, Place<Group, int> group) const {
    return box_slot(P.on_chip ? parity_ : Counter(0), term, group, box_groups_());
  }

  // One block's value of one group of 32 threads, in every one of them.
  template <class Term> TK_FN float group_value_(const Term& term, Place<ColumnBlock, int> block) const {
    float acc[P.wide];
    TK_UNROLL
    for (int e = 0; e < P.wide; ++e) acc[e] = Term::identity;
    for_chunks_(block, [&](Counter chunk, int count) {
      TK_UNROLL
      for (Counter e = 0; e < P.wide; ++e)
        if (P.blind) {
          const float next = term.step(acc[e], At{block, chunk, e});
          acc[e] = count > 0 ? next : acc[e];
        } else if (inside_(e, count)) {
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
  template <class Term> TK_FN void post_(Counter term, Place<ColumnBlock, int> block, float v) const {
    const Place<Group, int> group = group_in_row(block, thread_, Shape::kGroups, Shape::kColumnThreads);
    const Place<BoxSlot, int> slot_of_group = box_at_(term, group);
    if constexpr (P.cluster > 1) {
      warp_barrier();  // all of the group have read the box's other half
      if (thread_ % 32 < P.cluster) mailbox_send(mailbox_(), box_() + slot_of_group, lane_in_team(thread_), v);
    } else {
      if (thread_ % 32 == 0) box_()[slot_of_group] = v;
    }
  }
  // The blocks' values from left to right; several are read at once, so that only the joining takes its turns.
  template <class Term> TK_FN float collect_(Counter term) const {
    constexpr int kMost = P.on_chip ? 16 : 4;
    constexpr int kAtOnce = P.on_chip && Shape::kHeld * P.cluster < kMost ? Shape::kHeld * P.cluster : kMost;
    float total = Term::identity;
    for (Counter first = 0; first < blocks_(); first += kAtOnce) {
      float v[kAtOnce][Shape::kGroups];
      TK_UNROLL
      for (Counter b = 0; b < kAtOnce; ++b) {
        TK_UNROLL
        for (Counter g = 0; g < Shape::kGroups; ++g) {
          v[b][g] = 0.0f;
          if (first + b < blocks_()) v[b][g] = box_()[box_at_(term, group_of_block(first, b, g, Shape::kGroups))];
        }
      }
      TK_UNROLL
      for (int b = 0; b < kAtOnce; ++b) {
        TK_UNROLL
        for (int step = 1; step < Shape::kGroups; step *= 2) {
          TK_UNROLL
          for (int g = 0; g < Shape::kGroups; g += 2 * step) v[b][g] = Term::join(v[b][g], v[b][g + step]);
        }
        if (first + b < blocks_()) total = first + b == 0 ? v[b][0] : Term::join(total, v[b][0]);
      }
    }
    return total;
  }
  // Blocks of a cluster exchange values through a mailbox per parity. A block sends to one of them again only when
  // it has everybody's values of the exchange between, which they sent after reading this one's.
  mutable u32 exchanges_ = 0;
  mutable float picked_ = 0.0f;
  mutable bool picking_ = false;                 // the next exchange brings it
  TK_FN Shared<float, Counted> picks_() const {  // behind the box, one per parity
    return box_on_chip_() + picks_begin(box_groups_());
  }
  TK_FN Shared<u64, Counted> mailboxes_() const { return shared<u64, Counted>(mailboxes_byte(P)); }
  TK_FN Mailbox mailbox_() const { return mailboxes_() + parity_; }
  TK_FN void open_mailboxes_() const {
    if (thread_index() == 0) {
      mailbox_open(mailboxes_() + 0);
      mailbox_open(mailboxes_() + 1);
    }
    cluster_barrier();
  }
  // After this every value that was posted can be read.
  template <int terms> TK_FN void meet_() const {
    if constexpr (P.cluster > 1) {
      if (thread_index() == 0) mailbox_expect(mailbox_(), terms * box_groups_() * 4 + (picking_ ? 4 : 0));
      mailbox_await(mailbox_(), exchanges_ / 2 % 2);
      exchanges_ += 1;
      if (picking_) picked_ = picks_()[parity_];
      picking_ = false;
    } else {
      barrier();
    }
  }
  template <class... Term> TK_FN Reduced<float, sizeof...(Term)> reduce(const Term&... term) const {
    if constexpr (Shape::kOneGroup) {
      const Reduced<float, sizeof...(Term)> all{group_value_(term, held_block(thread_, P.wide))...};
      warp_barrier();  // what was read of the row is read again: it does not fit the registers
      return all;
    } else {
      if constexpr (!P.on_chip) barrier();  // the box of the last reduction has been read
      for_blocks_([&](Place<ColumnBlock, int> block) {
        Counter t = 0;
        ((post_<Term>(t++, block, group_value_(term, block))), ...);
      });
      meet_<sizeof...(Term)>();
      Counter t = 0;
      const Reduced<float, sizeof...(Term)> all{collect_<Term>(t++)...};
      parity_ =
          other_side(parity_);  // the next reduction posts elsewhere, and the one after it only behind another barrier
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
    const bool exists = j >= 0 && j < n_;
    if constexpr (Shape::kOneGroup || P.cluster > 1) {
      const auto place = place_of_column(given_column(static_cast<int>(exists ? j : 0), n_));
      const Counter owner = owner_of_lane(place.lane, P.wide);
      float v = 0.0f;
      const bool mine = exists && place.block == first_block_ && thread_ % Shape::kColumnThreads == owner;
      if (mine) {
        constexpr int kPerPiece = Shape::kPiece / bytes_of(K);
        const Counter e = element_of_lane(place.lane, P.wide);
        const auto from = cast<Raw<K>>(this->template cell_<O>(stage_, place.chunk, piece_of(e, kPerPiece)));
        v = widen<K>(from[place_in_piece(e, kPerPiece)]);
      }
      if constexpr (Shape::kOneGroup) {
        return shuffle(v, owner);
      } else {
        if (mine)
          for (Counter to = 0; to < P.cluster; ++to) mailbox_send(mailbox_(), picks_() + parity_, to, v);
        picking_ = exists;
        picked_ = 0.0f;
        return Picked{*this};
      }
    } else {  // before the next reduction's barrier, so before any store of this row
      float v = 0.0f;
      if (exists) v = widen<K>(elements<K>(arguments_.operand[O], row_)[given_column(j, i64{n_})]);
      return v;
    }
  }
  // What the owner sent, which arrives with the next reduction. Where it is asked for before there is one for it: every
  // group must post, or a block would send again before the others have read.
  struct Picked {
    const RowExchange& m;
    TK_FN operator float() const {  // NOLINT(google-explicit-constructor)
      if (m.picking_) m.sum([](At) { return 0.0f; });
      return m.picked_;
    }
  };
};

}  // namespace tokitai::device

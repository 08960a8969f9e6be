// Grouped products on a GPU: before any other a kernel asks the offsets, and makes the table that says which rows the
// slots of groups have (place_product.h). The others read both here.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/place_product.h"
#include "machines/device/place_row.h"
#include "patterns/names.h"

namespace tokitai::device {

// There are as many offsets as groups, and one.
template <Kind K> TK_FN i64 offset_at(const Arguments& arguments, int operand, i64 i) {
  return load_integer<K>(arguments.operand[operand], given_row(i, arguments.extent[3] + 1));
}
// The first slot of each group, and behind the last group's how many slots there are.
TK_FN Global<u32, Row> first_slots(const Arguments& arguments) {
  return global<u32, Workspace>(arguments.workspace) + first_slots_begin(i64{0});
}
TK_FN int first_slot_at(const Arguments& arguments, i64 group) {
  return static_cast<int>(first_slots(arguments)[given_row(group, arguments.extent[3] + 1)]);
}
TK_FN int all_slots(const Arguments& arguments) { return first_slot_at(arguments, arguments.extent[3]); }
TK_FN Global<u32, SlotWord> slot_table(const Arguments& arguments) {
  return global<u32, Workspace>(arguments.workspace) + slots_begin(first_slots_bytes(i64{arguments.extent[3]}));
}
// A word of what the table says of a slot.
TK_FN int slot_entry(const Arguments& arguments, Place<Row, i64> slot, Counter word) {
  return static_cast<int>((slot_table(arguments) + slot_word(slot))[word]);
}

// One block of threads, each of which has some neighbouring groups.
template <class D, SlotPlan P> struct SlotMachine : D::Names {
  const Arguments& arguments_;
  const i64 groups_, rows_;
  TK_FN SlotMachine(const Arguments& a, i64 rows) : arguments_(a), groups_(a.extent[3]), rows_(rows) {}

  TK_FN i64 offset_(i64 i) const { return offset_at<kind_at(P.kinds, P.offsets)>(arguments_, P.offsets, i); }
  TK_FN i64 slot_behind_(i64 first, i64 group) const {
    return slot_behind(first, offset_(group), offset_(group + 1), P.slot_rows);
  }
  // Calls f for each group of this thread.
  template <class F> TK_FN void for_groups_(F f) const {
    const i64 each = pieces_of(groups_, kSlotThreads);
    const Place<Row, i64> first = first_group_of(thread_index(), each);
    for (Place<Row, i64> group = first; group < first + each && group < groups_; ++group) f(group);
  }
  // The smallest position whose offset is refused is kept.
  TK_FN void check_at_(i64 i) const {
    const i64 at = offset_(i), least = i == 0 ? 0 : offset_(i - 1), most = i == 0 ? 0 : rows_;
    if (at < least || at > most || (i == groups_ && at != rows_)) refuse(arguments_, static_cast<u64>(i));
  }
  TK_FN void check_() const {
    for_groups_([&](i64 group) {
      check_at_(group);
      if (group + 1 == groups_) check_at_(groups_);
    });
  }
  TK_FN void count_() const {
    const Shared<u32, Counted> counts = shared<u32, Counted>(slot_counts_byte());
    i64 own = 0;
    for_groups_([&](i64 group) { own = slot_behind_(own, group); });
    counts[line_of_thread(thread_index())] = static_cast<u32>(own);
    barrier();
    i64 first = 0;
    for (Counter t = 0; t < thread_index() && t < groups_; ++t) first += counts[t];
    for_groups_([&](Place<Row, i64> group) {
      first_slots(arguments_)[group] = static_cast<u32>(first);
      first = slot_behind_(first, group);
      if (group + 1 == groups_) first_slots(arguments_)[given_row(i64{groups_}, groups_ + 1)] = static_cast<u32>(first);
    });
    barrier();
  }
  // The last group whose slots begin at or before this one: that of the slot, as groups without rows have none.
  TK_FN i64 group_of_(i64 slot) const {
    i64 group = 0;
    for (i64 end = groups_; end - group > 1;) {
      const i64 middle = (group + end) / 2;
      if (first_slot_at(arguments_, middle) <= slot)
        group = middle;
      else
        end = middle;
    }
    return group;
  }
  TK_FN void tell_() const {
    const int all = all_slots(arguments_);
    for (Place<Row, i64> slot = first_row_of(worker_of(block_index(), 1), thread_index(), kSlotThreads); slot < all;
         slot += asked_step(grid_size(), kSlotThreads)) {
      const i64 group = group_of_(slot);
      const i64 first = slot_first(offset_(group), i64{slot}, i64{first_slot_at(arguments_, group)}, P.slot_rows);
      *cast<Words<4>>(slot_table(arguments_) + slot_word(slot)) =
          Words<4>{{static_cast<u32>(group), static_cast<u32>(first), static_cast<u32>(offset_(group + 1)), 0u}};
    }
  }
};

template <class D, SlotPlan P> struct SlotWords : D::Names {
  const Arguments& arguments_;
  TK_FN explicit SlotWords(const Arguments& a) : arguments_(a) {}

  template <class C, class A, class B, class Offsets, class Start = Nothing, class How = Nothing>
  TK_FN void grouped_product(C, A, B, Offsets, Start = {}, How = {}) const {
    const SlotMachine<D, P> m(arguments_, arguments_.extent[FactorOf<A>::transposed ? 2 : 0]);
    m.check_();
    if constexpr (P.slot_rows > 0) {
      barrier();
      if (refused(arguments_)) return;
      m.count_();
      m.tell_();
    }
  }
};

template <class D, SlotPlan P> TK_FN void slots_kernel(const Arguments& arguments) {
  let_next_begin();
  const SlotWords<D, P> m(arguments);
  D::tile(m);
}

}  // namespace tokitai::device

// The ring of slots of a product on tensor cores: gates that say that a slot is full, and that it is free again, the
// turns in which slots are taken, and the factors in them.
#pragma once
#include "machines/device/alias_tensor.h"
// The words come first: behind memory.h no kernel may say what they are made of.
#include "machines/device/memory.h"
#include "machines/device/place_product.h"
#include "machines/device/plans.h"

namespace tokitai::device {

template <ProductPlan P> struct ProductRing {
  static constexpr ProductShape S = product_shape(P);
  static constexpr int kCluster = P.cluster_rows * P.cluster_cols;

  static TK_FN Gate full(Counter slot) { return shared<u64, Counted>(gates_byte(P)) + slot; }
  static TK_FN Gate free(Counter slot) { return shared<u64, Counted>(gates_byte(P)) + free_gate(slot, P.slots); }
  static TK_FN Counter own_lane() { return lane_in_group(thread_index()); }

  // Slots are taken in turn; each time around the phase of their gates changes.
  struct Turn {
    Counter slot = 0;
    u32 phase = 0;
    TK_FN Turn next() const {
      const Counter after = next_slot(slot, P.slots);
      return {after, phase ^ (after == 0 ? 1u : 0u)};
    }
  };
  static TK_FN void await(const Turn& turn) { gate_await(full(turn.slot), turn.phase); }

  // This group of 32 threads has read a slot: told to every block that brings a part of it.
  static TK_FN void release(Counter slot) {
    const Counter lane = own_lane();
    if constexpr (kCluster == 1) {
      if (lane == 0) gate_arrive(free(slot));
    } else {
      if (lane < kCluster) gate_arrive_at(free(slot), lane);
    }
  }
  static TK_FN Factor left(Counter slot, Counter rows) {
    return factor_behind(factor_at(shared<u16, RingHalf>(ring_byte()) + slot_half(slot, S.slot_bytes, 0, Counter(0))),
                         rows_half(rows));
  }
  static TK_FN Factor right(Counter slot) {
    return factor_at(shared<u16, RingHalf>(ring_byte()) + slot_half(slot, S.slot_bytes, S.left_bytes, Counter(0)));
  }
};

}  // namespace tokitai::device

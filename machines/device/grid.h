// A barrier for all blocks of a cooperative launch, made of the alias header's words: lockstep checks it like any text.
#pragma once
#include "machines/device/alias.h"

namespace tokitai::device {

// Every block of the launch arrives before any goes on. The launch must be cooperative; `counter` starts at zero
// and `round` counts the barriers from one.
TK_FN void grid_barrier(GlobalSpot<u32> counter, u32 round) {
  fence();
  barrier();
  if (thread_index() == 0) {
    atomic_add(counter, 1);
    while (load_fresh(counter) < round * static_cast<u32>(grid_size())) wait_a_little();
  }
  barrier();
  fence();
}

}  // namespace tokitai::device

// What all blocks of a launch agree on, made of the alias header's words: lockstep checks it like any text.
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

// Whether this block is the last of the launch to come here; then it sees what all of them wrote. `counter` starts at
// zero, `answer` is a word that all threads of a block share.
TK_FN bool comes_last(GlobalSpot<u32> counter, Shared<u32, Counted> answer) {
  fence();
  barrier();
  if (thread_index() == 0) answer[0] = atomic_add(counter, 1);
  barrier();
  const bool last = answer[0] + 1 == static_cast<u32>(grid_size());
  fence();
  return last;
}

}  // namespace tokitai::device

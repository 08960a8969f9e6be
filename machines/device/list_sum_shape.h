// What a sum over a list takes of shared memory, for the planner and for the kernel.
#pragma once
#include "machines/device/access.h"
#include "machines/device/plans.h"

namespace tokitai::device {

// The values of a chain's 32 blocks, and behind them a word that tells who comes last.
constexpr Place<Byte<Counted>, int> chain_byte() { return 0; }
constexpr Place<Byte<Counted>, int> last_byte() { return 32 * 4; }
constexpr int list_sum_shared_bytes() { return 32 * 4 + 16; }

}  // namespace tokitai::device

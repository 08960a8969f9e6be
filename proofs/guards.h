// The kernels' barriers and a few steps of loops, as the kernels write them: they stand in the kernels' own text.
#pragma once
#include "proofs/symbol.h"

namespace tokitai::proofs {

// `lane >= by` of a step of the scan
inline bool scan_adds(int lane, int by) { return lane >= by; }
// `slot + 1 == kAhead ? 0 : slot + 1` from one position to the next
inline Symbol<i64> slot_of_position(const Symbol<i64>& position, int ahead) { return position % ahead; }
// `phase ^ (after == 0 ? 1u : 0u)` of a slot behind the last, and of its gates
inline Symbol<i64> ring_phase(const Symbol<i64>& phase, const Symbol<i64>& after) {
  return choose(after == 0, 1 - phase, phase);
}

// How many barriers a thread has passed when it writes what others read, and when it reads what others wrote.
struct Schedule {
  Symbol<i64> writes, reads;
};
// `post`, `meet`, `collect` of a reduction on chip
inline Schedule box_schedule(const Symbol<i64>& reduction) { return {reduction, reduction + 1}; }
// The same where the box lies in the workspace: `barrier` before `post`
inline Schedule workspace_schedule(const Symbol<i64>& reduction) { return {2 * reduction + 1, 2 * reduction + 2}; }
// `store`, `barrier`, `multiply` of a turn of the chain
inline Schedule stage_schedule(const Symbol<i64>& turn) { return {turn, turn + 1}; }
// A pass of the sort: counts and what is scanned of them, grid barriers between; then pairs are written to the other
// copy, and read in the next pass
struct PassSchedule {
  Symbol<i64> counts, scans, places;
};
inline PassSchedule pass_schedule(const Symbol<i64>& pass) { return {3 * pass, 3 * pass + 1, 3 * pass + 2}; }

}  // namespace tokitai::proofs

// What a plan of the segment pattern takes of shared memory and workspace, for the planner and for the kernel.
// Templates over the integer type: the prover asks whether it is enough.
#pragma once
#include "machines/device/access.h"
#include "machines/device/plans.h"

namespace tokitai::device {

inline constexpr int kSortLevels = 6;                 // 32^7 is more than 2^31
inline constexpr std::int64_t kPairsPerWorker = 512;  // of the sort, at the least

// Words of four bytes that sorting takes at the most, whatever the launch.
template <class L> constexpr L sort_words(L pairs, L vocab, int digits) {
  return 4 * pairs + ((pairs + (kPairsPerWorker - 1)) / kPairsPerWorker + 1) * digits + 2 * vocab + (kSortLevels + 6);
}
// Rows of partial results, of runs longer than 32.
template <class L> constexpr L partial_rows(L pairs) { return (pairs / 32 + 1) * 2; }

// Shared memory in words: the sort's counts per group and digit, bases per digit and sums per group; then rows on their
// way.
constexpr int bases_word(int groups, int digits) { return groups * digits; }
constexpr int sums_word(int groups, int digits) { return (groups + 1) * digits; }
constexpr int sort_shared_words(int groups, int digits) { return groups * digits + digits + groups; }
// The same as bytes.
constexpr Place<Byte<GroupDigit>, int> counts_byte() { return 0; }
constexpr Place<Byte<Digit>, int> bases_byte(int groups, int digits) { return bases_word(groups, digits) * 4; }
constexpr Place<Byte<Counted>, int> sums_byte(int groups, int digits) { return sums_word(groups, digits) * 4; }
constexpr Place<Byte<StagedCell>, int> rows_byte(int groups, int digits) {
  return sort_shared_words(groups, digits) * 4;
}
constexpr int segment_shared_bytes(const SegmentPlan& p, int row_bytes) {
  return sort_shared_words(p.threads / 32, 1 << p.digit_bits) * 4 + p.ahead * p.threads * row_bytes;
}

}  // namespace tokitai::device

// Where the sort's pairs, counts and digits lie: in the workspace, in shared memory, and among the threads.
#pragma once
#include "machines/device/place.h"
#include "machines/device/segment_shape.h"

namespace tokitai::device {

// The workspace, in words of four bytes: two copies of keys and values, the counts of every digit and block, each
// digit's total, where the run of each index begins and ends, and how many runs need each level of joining.
template <class L> struct SortSpaceOf {
  L keys, values, counts, totals, begin, end, levels, words;
  L workers;  // blocks that take part

  friend bool operator==(const SortSpaceOf&, const SortSpaceOf&) = default;
};
using SortSpace = SortSpaceOf<i64>;
template <class L> TK_FN SortSpaceOf<L> sort_space(L pairs, L vocab, L blocks, int digits) {
  const L wanted = pieces_of(pairs, static_cast<int>(kPairsPerWorker));
  const L workers = choose(wanted < blocks, wanted, blocks);
  const L keys = 0;
  const L values = keys + 2 * pairs;
  const L counts = values + 2 * pairs;
  const L totals = counts + workers * digits;
  const L begin = totals + digits;
  const L end = begin + vocab;
  const L levels = end + vocab;
  return {keys, values, counts, totals, begin, end, levels, (levels + kSortLevels + 3) / 4 * 4, workers};
}

// A worker's pairs are consecutive, and so are those of each of its groups of 32 threads: how many a group has, and
// where they begin.
template <class L> TK_FN L pairs_of_group(L pairs, L workers, int groups) {
  return pieces_of((pairs + workers * groups - 1) / (workers * groups), 32) * 32;
}
template <class L, class I> TK_FN L first_pair(I block, I group, L each, int groups) {
  return (as_long(block) * groups + group) * each;
}
template <class L> TK_FN L pairs_end(L first, L each, L pairs) {
  return choose(first + each < pairs, first + each, pairs);
}

// The counts of a digit lie side by side, by block.
template <class L, class I> TK_FN L count_word(I digit, L workers) { return digit * workers; }
// Neighbouring digits belong to one thread where their totals are scanned.
template <class I> TK_FN I scanned_digit(I thread, I k, int each) { return thread * each + k; }

// A group's counts in shared memory.
template <class I> TK_FN I group_counts_word(I group, int digits) { return group * digits; }

}  // namespace tokitai::device

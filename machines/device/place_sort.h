// Where the sort's pairs, counts and digits lie: in the workspace, in shared memory, and among the threads.
#pragma once
#include "machines/device/place.h"
#include "machines/device/segment_shape.h"

namespace tokitai::device {

// The workspace, in words of four bytes: two copies of keys and values, the counts of every digit and block, each
// digit's total, where the run of each index begins and ends, and how many runs need each level of joining.
template <class L> struct SortSpaceOf {
  template <class Space> using At = Place<Begin<Space>, L>;
  At<Row> keys, values;
  At<InMatrix> counts;
  At<Digit> totals;
  At<Row> begin, end;
  At<Counted> levels;
  At<Workspace> words;
  L workers;  // blocks that take part
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
// Of two copies of the pairs, the one of a side; and behind all words of four bytes, partial results of `bytes` each.
template <class L, class I>
TK_FN Place<Begin<Row>, L> copy_begin(Place<Begin<Row>, L> begin, CounterOf<I> side, L pairs) {
  return begin + side * pairs;
}
template <class L> TK_FN Place<Begin<InMatrix>, L> partials_begin(Place<Begin<Workspace>, L> words, L bytes) {
  return words * 4 / bytes;
}

// A worker's pairs are consecutive, and so are those of each of its groups of 32 threads: how many a group has, and
// where they begin.
template <class L> TK_FN L pairs_of_group(L pairs, L workers, int groups) {
  return pieces_of((pairs + workers * groups - 1) / (workers * groups), 32) * 32;
}
template <class L, class I>
TK_FN Place<Row, L> first_pair(Place<Block, I> block, CounterOf<I> group, L each, int groups) {
  return (as_long(block) * groups + group) * each;
}
template <class L> TK_FN L pairs_end(Place<Row, L> first, L each, L pairs) {
  return choose(first + each < pairs, first + each, pairs);
}

// The counts of a digit lie side by side, by block.
template <class L, class I> TK_FN L count_word(Place<Digit, I> digit, L workers) { return digit * workers; }
template <class L, class I, Made P> TK_FN Place<InMatrix, L> count_place(Place<Digit, I> digit, L workers, P worker) {
  return count_word(digit, workers) + worker;
}
// Neighbouring digits belong to one thread where their totals are scanned.
template <class I> TK_FN Place<Digit, I> scanned_digit(Place<Thread, I> thread, CounterOf<I> k, int each) {
  return thread * each + k;
}
// Where digits are taken in turn: by a group's lanes or a block's threads, and by the groups of all blocks.
template <Made P> TK_FN auto own_digit(P first) -> Place<Digit, decltype(first + 0)> { return first + 0; }
template <class I> TK_FN Place<Digit, I> digit_of_group(Place<Block, I> block, CounterOf<I> group, int groups) {
  return block * groups + group;
}
template <class I> TK_FN Place<Given<Step<Digit>>, I> digit_step(I blocks, int groups) { return blocks * groups; }
// The counts of a digit are scanned 32 blocks at a time.
template <class L, class I> TK_FN Place<Row, L> scanned_worker(CounterOf<L> first, CounterOf<I> lane) {
  return first + lane;
}
// A key's digit, which is what is left of it by division.
template <class L> TK_FN Place<Digit, L> given_digit(L value, int digits) { return value % digits; }
// How many indices need each level.
template <class L> TK_FN Place<Given<Counted>, L> level_of(Place<Row, L> item) { return item + 0; }

// A group's counts in shared memory.
template <class I> TK_FN Place<Begin<Digit>, I> group_counts_word(CounterOf<I> group, int digits) {
  return group * digits;
}
template <class I> TK_FN Place<GroupDigit, I> group_digit(CounterOf<I> group, Place<Digit, I> digit, int digits) {
  return group_counts_word(group, digits) + digit;
}

}  // namespace tokitai::device

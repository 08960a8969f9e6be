// A stable radix sort of (index, position) pairs by all blocks of a cooperative launch. No atomic and no order of
// arrival decides anything: a pair's place follows from counts alone.
#pragma once
#include "machines/device/grid.h"
#include "machines/device/memory.h"
#include "machines/device/place_sort.h"

namespace tokitai::device {

template <int digit_bits> TK_FN constexpr SortSpace sort_space_of(i64 pairs, i64 vocab, i64 blocks) {
  return sort_space(pairs, vocab, blocks, 1 << digit_bits);
}

template <int digit_bits, int threads> struct Sorter {
  static constexpr int kDigits = 1 << digit_bits;
  static constexpr int kGroups = threads / 32;
  static constexpr int kSharedBytes = sort_shared_words(kGroups, kDigits) * 4;

  const Arguments& arguments;
  const SortSpace space;
  u32 round = 0;
  i64 pairs = 0;
  Counter side = 0;  // which copy holds the pairs now

  TK_FN Sorter(const Arguments& a, const SortSpace& s) : arguments(a), space(s) {}
  template <class Space> TK_FN Global<u32, Space> words(Place<Begin<Space>, i64> from) const {
    return global<u32, Workspace>(arguments.workspace) + from;
  }
  TK_FN Global<u32, Row> keys() const { return words<Row>(copy_begin(space.keys, side, i64{arguments.extent[0]})); }
  TK_FN Global<u32, Row> values() const { return words<Row>(copy_begin(space.values, side, i64{arguments.extent[0]})); }
  TK_FN void put(Place<Row, i64> i, u32 key, u32 value) const {
    keys()[i] = key;
    values()[i] = value;
  }
  TK_FN void meet() { grid_barrier(global_one<u32>(arguments.counter), ++round); }

  // Shared memory: a count per group and digit, a base per digit, a sum per group.
  TK_FN Counter lane_index() const { return lane_in_group(thread_index()); }
  TK_FN Counter group_index() const { return group_of_thread(thread_index()); }
  TK_FN Shared<u32, GroupDigit> counts() const { return shared<u32, GroupDigit>(counts_byte()); }
  TK_FN Shared<u32, Digit> group_counts() const { return counts() + group_counts_word(group_index(), kDigits); }
  TK_FN Shared<u32, Digit> bases() const { return shared<u32, Digit>(bases_byte(kGroups, kDigits)); }
  TK_FN Shared<u32, Counted> group_sums() const { return shared<u32, Counted>(sums_byte(kGroups, kDigits)); }
  // A digit that memory said, and what a pair's count says.
  TK_FN Place<Digit, u32> known(u32 digit) const { return given_digit(digit, kDigits); }

  // The threads of this group that hold the same digit; bits beyond the pairs' end are never among them.
  static TK_FN u32 same(u32 digit, bool real) {
    u32 mask = ballot(real);
    TK_UNROLL
    for (int b = 0; b < digit_bits; ++b) {
      const u32 ones = ballot((digit >> b) & 1u);
      mask &= ((digit >> b) & 1u) ? ones : ~ones;
    }
    return mask;
  }
  template <class F> TK_FN void for_pairs(F f) const {
    const i64 each = pairs_of_group(pairs, space.workers, kGroups);
    const Place<Row, i64> first = first_pair(block_index(), group_index(), each, kGroups);
    const i64 end = pairs_end(first, each, pairs);
    for (Place<Row, i64> i = first; i < end; i += 32) f(position_of(i, lane_index()), i + thread_index() % 32 < end);
  }

  TK_FN Counter other() const { return other_side(side); }
  TK_FN Place<GroupDigit, int> group_count_of(Counter g, Place<Digit, int> d) const {
    return group_digit(g, d, kDigits);
  }

  TK_FN void sort(i64 count, i64 vocab) {
    pairs = count;
    for (int shift = 0; (vocab >> shift) != 0; shift += digit_bits) pass(shift);
  }
  TK_FN void pass(int shift) {
    const bool works = block_index() < space.workers;
    const Counter lane = lane_index();
    if (works) {
      for (Place<Digit, int> d = own_digit(lane); d < kDigits; d += 32) group_counts()[d] = 0;
      warp_barrier();
      for_pairs([&](Place<Row, i64> i, bool real) {
        u32 digit = 0;
        if (real) digit = (keys()[i] >> shift) % kDigits;
        const u32 mask = same(digit, real);
        if (real && (mask >> lane) == 1u)
          group_counts()[known(digit)] = group_counts()[known(digit)] + count_bits(mask);
        warp_barrier();
      });
      barrier();
      for (Place<Digit, int> d = own_digit(thread_index()); d < kDigits; d += threads) {
        u32 total = 0;
        for (Counter g = 0; g < kGroups; ++g) total += counts()[group_count_of(g, d)];
        words<InMatrix>(space.counts)[count_place(d, space.workers, block_index())] = total;
      }
    }
    meet();
    scan_counts();
    meet();
    if (works) {
      place_digits();
      for_pairs([&](Place<Row, i64> i, bool real) {
        u32 key = 0, value = 0;
        if (real) {
          key = keys()[i];
          value = values()[i];
        }
        const u32 digit = (key >> shift) % kDigits;
        const u32 mask = same(digit, real);
        u32 at = 0;
        if (real) at = group_counts()[known(digit)] + count_bits(mask & ((1u << lane) - 1u));
        warp_barrier();
        if (real && (mask >> lane) == 1u) group_counts()[known(digit)] = at + 1;  // this thread is the last of them
        warp_barrier();
        if (real) {
          words<Row>(copy_begin(space.keys, other(), i64{arguments.extent[0]}))[given_row(i64{at}, pairs)] = key;
          words<Row>(copy_begin(space.values, other(), i64{arguments.extent[0]}))[given_row(i64{at}, pairs)] = value;
        }
      });
    }
    side = other();
    meet();
  }

  // Each digit's counts become how many of its pairs lie in the blocks before; a group of threads per digit.
  TK_FN void scan_counts() const {
    const Counter lane = lane_index();
    for (Place<Digit, int> d = digit_of_group(block_index(), group_index(), kGroups); d < kDigits;
         d += digit_step(grid_size(), kGroups)) {
      u32 before = 0;
      for (CounterOf<i64> first = 0; first < space.workers; first += 32) {
        const bool real = first + lane < space.workers;
        u32 count = 0;
        if (real) count = words<InMatrix>(space.counts)[count_place(d, space.workers, scanned_worker(first, lane))];
        const u32 sum = inclusive(count);
        if (real)
          words<InMatrix>(space.counts)[count_place(d, space.workers, scanned_worker(first, lane))] =
              before + sum - count;
        before += shuffle(sum, 31);
      }
      if (lane == 0) words<Digit>(space.totals)[d] = before;
    }
  }
  // The sum of a group's values up to this thread's.
  static TK_FN u32 inclusive(u32 value) {
    const int lane = thread_index() % 32;
    TK_UNROLL
    for (int by = 1; by < 32; by *= 2) {
      const u32 left = shuffle_up(value, by);
      if (lane >= by) value += left;
    }
    return value;
  }

  // Turns each group's counts into where its first pair of each digit goes: behind all smaller digits, behind
  // this digit's pairs in the blocks before, behind those of the groups before.
  TK_FN void place_digits() const {
    constexpr int kEach = (kDigits + threads - 1) / threads;
    u32 total[kEach], before[kEach];
    u32 mine = 0;
    TK_UNROLL
    for (Counter k = 0; k < kEach; ++k) {
      const Place<Digit, int> d = scanned_digit(thread_index(), k, kEach);
      total[k] = before[k] = 0;
      if (d < kDigits) {
        total[k] = words<Digit>(space.totals)[d];
        before[k] = words<InMatrix>(space.counts)[count_place(d, space.workers, block_index())];
      }
      mine += total[k];
    }
    // An exclusive scan of the digits' totals over the block.
    const u32 sum = inclusive(mine);
    if (thread_index() % 32 == 31) group_sums()[group_index()] = sum;
    barrier();
    u32 base = sum - mine;
    for (Counter g = 0; g < thread_index() / 32; ++g) base += group_sums()[g];
    TK_UNROLL
    for (Counter k = 0; k < kEach; ++k) {
      const Place<Digit, int> d = scanned_digit(thread_index(), k, kEach);
      if (d < kDigits) bases()[d] = base + before[k];
      base += total[k];
    }
    barrier();
    for (Place<Digit, int> d = own_digit(thread_index()); d < kDigits; d += threads) {
      u32 at = bases()[d];
      for (Counter g = 0; g < kGroups; ++g) {
        const u32 c = counts()[group_count_of(g, d)];
        counts()[group_count_of(g, d)] = at;
        at += c;
      }
    }
    barrier();
  }
};

}  // namespace tokitai::device

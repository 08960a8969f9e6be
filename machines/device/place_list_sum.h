// Where the elements of a sum over a list lie: a group of 32 threads takes a block of 2048 elements of one tensor, a
// block of threads a chain of 32 such blocks.
#pragma once
#include "machines/device/place.h"
#include "patterns/reduction.h"

namespace tokitai::device {

// Which block of its chain a group takes in a turn.
template <class I> TK_FN Place<Given<Counted>, I> block_in_chain(CounterOf<I> turn, CounterOf<I> group, int groups) {
  return turn * groups + group;
}
// The first element of a thread's vector: chunks of 256 lanes, of which all threads of a group hold 32 * wide at a
// time, in neighbouring parts.
template <class L, class I>
TK_FN Place<Element, L> summed_vector(Place<Begin<Element>, L> begin, CounterOf<I> chunk, CounterOf<I> part,
                                      Place<Thread, I> thread, int wide) {
  return begin + (as_long(chunk) * kLanes + as_long(part) * (32 * wide) + thread % 32 * wide);
}

}  // namespace tokitai::device

// Which accesses lie before which, and the operations that order them.
#include <algorithm>

#include "machines/lockstep/state.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {

Circle State::circle_with(Stamp other) const {
  if (thread_of(other) == thread->id) return Circle::thread;
  const std::uint32_t their = thread_of(other) - thread->block->first_id;
  if (their >= static_cast<std::uint32_t>(launch->block)) {
    const int their_block = static_cast<int>(thread_of(other) / static_cast<std::uint32_t>(launch->block));
    return their_block / launch->cluster == thread->block->index / launch->cluster ? Circle::cluster : Circle::grid;
  }
  return their / 32 == static_cast<std::uint32_t>(thread->index) / 32 ? Circle::group : Circle::block;
}

bool State::ordered(Stamp earlier, const Cell* written) const {
  const std::uint32_t time = time_of(earlier);
  if (time < launch_start) return time == 0 || thread->awaited;
  if (circle_of(earlier) == Circle::listed) return ordered_readers(earlier);
  if ((earlier & kEngine) != 0) return time < thread->block->start || ordered_by_gates(earlier);
  if (same_thread(earlier, stamp())) return true;
  const Circle touched = circle_of(earlier);
  const Circle apart = std::max(touched, circle_with(earlier));
  const Block& mine = *thread->block;
  const Known& known = thread->known;
  if (apart == Circle::group && time < thread->group->barrier) return true;
  if (apart <= Circle::block) return time < mine.barrier || ordered_by_gates(earlier);

  if (apart == Circle::cluster && (time < mine.cluster->barrier || ordered_by_gates(earlier))) return true;
  const std::uint32_t block_threads = static_cast<std::uint32_t>(launch->block);
  const int their_block = static_cast<int>(thread_of(earlier) / block_threads);
  const auto behind = [&](int block, std::uint32_t when) {
    if (block == mine.index) return when < mine.barrier;
    return counters.covers_block(known, block, when) || counters.covers_block(mine.known, block, when);
  };
  if (touched == Circle::thread) {
    const int their_thread = static_cast<int>(thread_of(earlier) % block_threads);
    return counters.covers(known, their_block, their_thread, time) ||
           counters.covers(mine.known, their_block, their_thread, time);
  }
  if (touched <= Circle::block) return behind(their_block, time);
  // Touched by threads of several blocks: all of them must be behind.
  if (const auto by = changed.find(written); by != changed.end() && (earlier & kAtomic) != 0)
    return std::all_of(by->second.begin(), by->second.end(), [&](const auto& b) { return behind(b.first, b.second); });
  const int first = touched == Circle::cluster ? their_block / launch->cluster * launch->cluster : 0;
  const int end = touched == Circle::cluster ? first + launch->cluster : launch->grid;
  for (int b = first; b < end; ++b)
    if (!behind(b, time)) return false;
  return true;
}

static void await_earlier(Thread& thread) {
  if (thread.awaited) return;
  thread.awaited = true;
  Block& block = *thread.block;
  if (++block.awaited == state->launch->block)
    block.settled_global = std::max(block.settled_global, state->launch_start);
}
void await_earlier() { await_earlier(*state->thread); }

void fence() {
  Thread& me = *state->thread;
  Block& block = *me.block;
  me.fenced = state->tick();
  me.fenced_block = block.barrier;
  me.fenced_group = me.group->barrier;
  block.fenced = true;
  if (!me.pending.empty() || !block.pending.empty()) {
    me.known.join(me.pending);
    me.known.join(block.pending);
    me.pending.clear();
    block.acquired = true;
  }
  me.fenced_known = me.known;
  me.fenced_known.join(block.known);
}

void announce(std::uintptr_t counter) {
  State& s = *state;
  Thread& me = *s.thread;
  Block& block = *me.block;
  s.counters.acquire(counter, me.pending);
  block.acquired |= !me.pending.empty();
  Announcement announcement;
  announcement.block = block.index;
  announcement.thread = me.index;
  announcement.group = me.index / 32;
  announcement.everyone = std::max(block.everyone, me.fenced_block);
  announcement.mates = me.fenced_group;
  announcement.self = me.fenced;
  announcement.sealed = block.sealed;
  s.counters.announce(counter, announcement, me.fenced_known);
}

// Threads have met: each knows what the others knew, and what they fenced for the copy engine is there.
static void share(Thread* first, int count) {
  if (!state->gated && !state->fenced) return;
  Clock clock;
  for (Thread* t = first; t != first + count; ++t) clock = join(clock, t->clock);
  for (Thread* t = first; t != first + count; ++t) {
    t->clock = clock;
    t->boxes_sealed = t->boxes_fenced;
  }
}

// Every thread of the blocks has arrived.
static void join_blocks(Block* first, int count, std::uint32_t time) {
  Known known, pending;
  for (Block* block = first; block != first + count; ++block) {
    const std::uint32_t before = block->barrier;
    block->arrived = 0;
    block->barrier = time;
    block->settled_shared = time;
    if (state->launch->grid == count) block->settled_global = time;
    if (block->fenced) {
      auto sealed = std::make_shared<Sealed>();
      bool all = true;
      for (std::size_t t = 0; t < block->threads.size(); ++t) {
        const Thread& thread = block->threads[t];
        block->everyone = std::max(block->everyone, thread.fenced_block);
        sealed->until.push_back(std::max(thread.fenced, block->sealed ? block->sealed->until[t] : 0));
        all &= thread.fenced >= before;
      }
      sealed->together = all ? time : block->sealed ? block->sealed->together : 0;
      block->sealed = std::move(sealed);
      block->fenced = false;
    }
    if (block->acquired)
      for (Thread& thread : block->threads) {
        block->known.join(thread.known);
        block->pending.join(thread.pending);
        thread.known.clear();
        thread.pending.clear();
      }
    block->acquired = false;
    if (block->awaited > 0)
      for (Thread& thread : block->threads) await_earlier(thread);
    known.join(block->known);
    pending.join(block->pending);
    share(block->threads.data(), state->launch->block);
  }
  for (Block* block = first; block != first + count && count > 1; ++block) {
    block->known = known;
    block->pending = pending;
  }
}

static void release_block(Block& block) {
  for (Thread& thread : block.threads) state->wake(thread);
}

void barrier() {
  State& s = *state;
  Block& block = *s.thread->block;
  if (++block.arrived == s.launch->block) {
    // In a cluster another block may store here, so only the cluster's barrier settles shared memory.
    const std::uint32_t settled = block.settled_shared;
    join_blocks(&block, 1, s.tick());
    if (s.launch->cluster > 1) block.settled_shared = settled;
    release_block(block);
    s.rest();
  } else {
    s.wait(At::barrier);
  }
}

void cluster_barrier() {
  State& s = *state;
  Block& block = *s.thread->block;
  Cluster& cluster = *block.cluster;
  if (++cluster.arrived == s.launch->block * s.launch->cluster) {
    cluster.arrived = 0;
    cluster.met = true;
    cluster.barrier = s.tick();
    Block* first = &block - block.index % s.launch->cluster;
    join_blocks(first, s.launch->cluster, cluster.barrier);
    for (Block* b = first; b != first + s.launch->cluster; ++b) release_block(*b);
    s.rest();
  } else {
    s.wait(At::cluster_barrier);
  }
}

// One that comes with another operation waits for ever, which found_stall then explains.
void meet(At at, void (*last)(Thread* first, int argument), int argument, int size) {
  State& s = *state;
  Thread* first = s.thread - s.thread->index % size;
  Group& group = *first->group;
  if (group.arrived == 0) group.at = at;
  if (group.at != at || ++group.arrived < size) {
    s.wait(at);
    return;
  }
  group.arrived = 0;
  ++group.turn;
  if (last != nullptr) last(first, argument);
  if (at == At::warp_barrier || at == At::multiply_wait) {
    group.barrier = s.tick();
    share(first, 32);
  }
  for (Thread* t = first; t != first + size; ++t) s.wake(*t);
}

void warp_barrier() { meet(At::warp_barrier); }

std::uint32_t exchange(Exchange kind, std::uint32_t value, int lane) {
  Thread& me = *state->thread;
  const int mine = me.index % 32;
  if (lane < 0 || lane > 31) {
    found(Finding::out_of_bounds, "lane " + std::to_string(lane), "is asked for in a group of 32");
    lane &= 31;
  }
  std::uint32_t* slot = me.group->slot[me.group->turn % 2];
  slot[mine] = value;
  meet(kind == Exchange::shuffle ? At::shuffle : kind == Exchange::shuffle_xor ? At::shuffle_xor : At::shuffle_up);
  if (kind == Exchange::shuffle_xor) return slot[mine ^ lane];
  if (kind == Exchange::shuffle_up) return slot[mine < lane ? mine : mine - lane];
  return slot[lane];
}

std::uint32_t ballot(bool yes) {
  Thread& me = *state->thread;
  std::uint32_t* slot = me.group->slot[me.group->turn % 2];
  slot[me.index % 32] = yes;
  meet(At::ballot);
  std::uint32_t all = 0;
  for (int lane = 0; lane < 32; ++lane) all |= slot[lane] << lane;
  return all;
}

}  // namespace tokitai::lockstep

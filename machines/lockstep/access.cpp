// Every access of a kernel by its threads; asynchronous copies.
#include <algorithm>
#include <cstring>

#include "machines/lockstep/pass.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {

Allocation* find(const void* p) { return state->memory->find(p); }

const void* read_global(Allocation* range, std::uintptr_t at, int bytes, int align) {
  return global<Sort::read>(range, at, bytes, align);
}
const void* read_constant(Allocation* range, std::uintptr_t at, int bytes, int align) {
  return global<Sort::constant>(range, at, bytes, align);
}
void* write_global(Allocation* range, std::uintptr_t at, int bytes, int align) {
  return global<Sort::write>(range, at, bytes, align);
}
const void* read_shared(std::int64_t at, int bytes, int align) {
  return shared<Sort::read>(*state->thread->block, at, bytes, align);
}
void* write_shared(std::int64_t at, int bytes, int align) {
  return shared<Sort::write>(*state->thread->block, at, bytes, align);
}

void* write_cluster(std::int64_t at, int rank, int bytes, int align) {
  State& s = *state;
  Block& mine = *s.thread->block;
  if (rank < 0 || rank >= s.launch->cluster) {
    found(Finding::out_of_bounds, "rank " + std::to_string(rank),
          "lies outside the cluster of " + std::to_string(s.launch->cluster));
    return nullptr;
  }
  Block& block = (&mine)[rank - mine.index % s.launch->cluster];
  if (&block != &mine && block.ended == s.launch->block) {
    found(Finding::out_of_bounds, shared_place(at, block), "is written, but that block has ended");
    return nullptr;
  }
  if (&block != &mine && !mine.cluster->met)
    found(Finding::race, shared_place(at, block),
          "is written before any cluster_barrier: that block may not have started");
  if (block.mailed.empty()) block.mailed.resize(static_cast<std::size_t>(s.launch->shared_bytes) / 2 + 1);
  if (at >= 0 && at + bytes <= s.launch->shared_bytes) std::fill_n(block.mailed.begin() + at / 2, bytes / 2, true);
  return shared<Sort::write>(block, at, bytes, align);
}

// --- Atomic operations.
std::uint32_t atomic_add(Allocation* range, std::uintptr_t at, std::uint32_t v) {
  auto* p = static_cast<std::uint32_t*>(global<Sort::atomic>(range, at, 4, 4));
  if (p == nullptr) return 0;
  announce(at);
  const std::uint32_t before = *p;
  *p = before + v;
  return before;
}
void atomic_min(Allocation* range, std::uintptr_t at, std::uint64_t v) {
  auto* p = static_cast<std::uint64_t*>(global<Sort::atomic>(range, at, 8, 8));
  if (p != nullptr) *p = std::min(*p, v);
}
void atomic_count(Allocation* range, std::uintptr_t at, std::uint64_t v) {
  auto* p = static_cast<std::uint64_t*>(global<Sort::atomic>(range, at, 8, 8));
  if (p != nullptr) *p += v;
}
std::uint32_t load_fresh(Allocation* range, std::uintptr_t at) {
  State& s = *state;
  s.rest();  // others may be what it waits for
  const auto* p = static_cast<const std::uint32_t*>(global<Sort::fresh>(range, at, 4, 4));
  if (p == nullptr) return 0;
  s.counters.acquire(at, s.thread->known);
  s.thread->block->acquired |= !s.thread->known.empty();
  return *p;
}

// --- Asynchronous copies: nothing moves before the wait that covers it.
void copy_async(std::int64_t to, Allocation* range, std::uintptr_t from, int bytes) {
  State& s = *state;
  Block& block = *s.thread->block;
  count_access();
  if (locate_shared(block, to, bytes, bytes) == nullptr) return;
  // What was there must be done with now, not only when the copy lands.
  Cell probe[8];
  std::copy_n(block.cells.get() + to / 2, bytes / 2, probe);
  pass<Sort::write>(probe, bytes / 2, block.settled_shared, block.start, [&] { return shared_place(to, block); });
  s.thread->copies.push_back({to, range, from, bytes, s.thread->commits, s.tick()});
}
void copy_commit() { ++state->thread->commits; }

void copy_wait(int pending) {
  State& s = *state;
  Block& block = *s.thread->block;
  auto& copies = s.thread->copies;
  std::size_t done = 0;
  for (; done < copies.size() && copies[done].group < s.thread->commits - pending; ++done) {
    const Copy copy = copies[done];
    const void* from = global<Sort::read>(copy.range, copy.from, copy.bytes, copy.bytes);
    Cell* cells = block.cells.get() + copy.to / 2;
    for (int i = 0; i < copy.bytes / 2; ++i) {
      const Stamp last = time_of(cells[i].read) >= copy.sent ? cells[i].read : cells[i].write;
      if (time_of(last) < copy.sent) continue;
      found_race(shared_place(copy.to, block), "copies asynchronously to", last, "touched before the copy landed");
      break;
    }
    const Stamp mine = s.stamp();
    std::fill_n(cells, copy.bytes / 2, Cell{mine, 0});
    ++s.progress;
    unsigned char* to = block.shared.get() + copy.to;
    if (from != nullptr)
      std::memcpy(to, from, static_cast<std::size_t>(copy.bytes));
    else
      std::memset(to, 0, static_cast<std::size_t>(copy.bytes));
  }
  copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace tokitai::lockstep

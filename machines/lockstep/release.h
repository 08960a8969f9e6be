// What one block may know of another's accesses: only what was fenced, then announced by an atomic addition to a
// counter, then seen by a later addition or load_fresh of that counter.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tokitai::lockstep {

// Per thread of a block: the time before which its own fence has sealed its accesses, known through a barrier. And
// the last such barrier that all threads came to by a fence: what they touched together is judged by it, as it is
// not kept who of them touched it when.
struct Sealed {
  std::vector<std::uint32_t> until;
  std::uint32_t together = 0;
};

// What one addition announces: of each thread of the block, the accesses before a time.
struct Announcement {
  int block = 0;
  int thread = 0, group = 0;                        // who announced, within the block
  std::uint32_t everyone = 0, mates = 0, self = 0;  // whole block, group of 32, the announcing thread
  std::shared_ptr<const Sealed> sealed;

  std::uint32_t until(int of) const {
    std::uint32_t t = everyone;
    if (sealed) t = std::max(t, sealed->until[static_cast<std::size_t>(of)]);
    if (of / 32 == group) t = std::max(t, mates);
    return of == thread ? std::max(t, self) : t;
  }
  std::uint32_t until_together() const { return sealed ? std::max(everyone, sealed->together) : everyone; }
  bool empty() const { return everyone == 0 && mates == 0 && self == 0 && !sealed; }
};

// How much of each counter's history has been seen.
struct Known {
  std::vector<std::size_t> seen;
  void join(const Known& other) {
    if (seen.size() < other.seen.size()) seen.resize(other.seen.size());
    for (std::size_t c = 0; c < other.seen.size(); ++c) seen[c] = std::max(seen[c], other.seen[c]);
  }
  bool empty() const { return seen.empty(); }
  void clear() { seen.clear(); }
};

class Counters {
 public:
  // Adds everything announced at this counter so far to `known`.
  void acquire(std::uintptr_t address, Known& known);
  void announce(std::uintptr_t address, const Announcement& announcement, const Known& known);

  bool covers(const Known& known, int block, int thread, std::uint32_t time) const;
  bool covers_block(const Known& known, int block, std::uint32_t time) const;

 private:
  struct Counter {
    std::vector<Announcement> history;
    std::vector<Known> passed_on;  // what the announcers knew, joined up to here
    std::unordered_map<int, std::vector<std::size_t>> of_block;
  };
  template <class Enough> bool any(const Known& known, int block, Enough enough) const;

  std::unordered_map<std::uintptr_t, std::size_t> index_;
  std::vector<Counter> counters_;
};

}  // namespace tokitai::lockstep

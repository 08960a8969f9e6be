// Runs a GPU kernel's own text on the CPU, one fiber per GPU thread, and checks every access it makes: bounds,
// alignment, reads of what was never written, data races, barriers that not all threads reach.
// README.md says what is checked and what is assumed.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machines/lockstep/memory.h"

namespace tokitai::lockstep {

struct Launch {
  std::string name;
  int grid = 1;              // blocks
  int block = 32;            // threads, a multiple of 32
  int cluster = 1;           // blocks that share a cluster barrier; divides grid
  bool cooperative = false;  // all blocks alive at once; otherwise one cluster after the other
  bool follows = false;      // on a GPU it may begin before the launch in front of it has ended
  int shared_bytes = 0;
  int warp = 32;                                    // 32 or 64: the unit of scheduling; exchanges are 32 wide always
  std::int64_t step_limit = std::int64_t{1} << 33;  // accesses, after which the launch is called endless
};

struct Finding {
  enum Kind { race, out_of_bounds, uninitialised, read_only, misaligned, divergent_barrier, deadlock, unproved } kind;
  std::string text;
};

// Which ready thread runs next. A warp runs until all its threads wait; `preempt` also switches at random accesses.
enum class Schedule { ascending, descending, random, preempt };

struct Report {
  std::vector<Finding> findings;  // the first of each sort; `count` counts all
  std::int64_t count = 0;
  std::int64_t accesses = 0;

  bool clean() const { return count == 0; }
  bool has(Finding::Kind kind) const;
};

// Every thread of the launch runs `kernel_thread`; the words of alias.h find the thread that calls them. Throws
// std::invalid_argument for a launch no GPU could make (block not a multiple of 32, more than 2^24 threads, ...).
Report run(const Launch& launch, Memory& memory, Schedule schedule, std::uint64_t seed,
           const std::function<void()>& kernel_thread);

}  // namespace tokitai::lockstep

// What an access passes: bounds, alignment, rights, then who touched the same bytes.
#pragma once
#include <algorithm>

#include "machines/lockstep/state.h"

namespace tokitai::lockstep {

enum class Sort { read, constant, fresh, write, atomic };
constexpr bool reads_only(Sort sort) { return sort == Sort::read || sort == Sort::constant || sort == Sort::fresh; }
constexpr const char* does(Sort sort) {
  return reads_only(sort) ? "reads" : sort == Sort::write ? "writes" : "adds to or lowers";
}

inline void count_access() {
  if (--state->countdown <= 0) [[unlikely]]
    state->look_up();
}

// The stamp of readers `touched` and the current thread together. Where gates order threads one by one, every group of
// 32 is remembered (gates.cpp). Of threads of several clusters the first one's time
// is kept: a later one would be held against the barriers of blocks that were done before.
inline Stamp together(Stamp touched, Stamp mine, bool among_gates) {
  if (among_gates) return readers_with(touched, mine);
  const auto circle = std::max(circle_of(touched), state->circle_with(touched));
  const std::uint32_t time = time_of(circle == Circle::grid ? touched : mine);
  return make_stamp(time, thread_of(mine)) | static_cast<Stamp>(circle);
}

// The stamp of an atomic change, made beside the one before where that is in no order with it.
inline Stamp changed_with(const Cell* cell, Stamp before, bool beside) {
  State& s = *state;
  const Stamp mine = s.stamp();
  auto& by_block = s.changed[cell];
  if (!beside) by_block.clear();
  by_block[s.thread->block->index] = time_of(mine);
  const Circle circle = beside ? std::max(circle_of(before), s.circle_with(before)) : Circle::thread;
  return mine | static_cast<Stamp>(circle) | kAtomic;
}

// Whether a set of readers, all of this moment, holds the current thread's circle already: many threads read what
// one wrote.
inline bool joined(Stamp readers, Stamp mine) {
  return time_of(readers) == time_of(mine) && (readers & kAtomic) == 0 && circle_of(readers) >= Circle::block &&
         circle_of(readers) != Circle::listed && state->circle_with(readers) <= circle_of(readers);
}

// Passes the cells of one access; `initialised_from` is the time from which a write counts. Neighbours mostly carry
// the same stamps, so a cell like the one before costs two comparisons. `by`: the stamp of the copy engine, or none.
template <Sort sort, class Where>
void pass(Cell* cell, int count, std::uint32_t settled, std::uint32_t initialised_from, Where where,
          bool among_gates = false, Stamp by = 0) {
  State& s = *state;
  const Stamp mine = s.stamp();
  Stamp seen_write = 0, seen_read = 0, next = mine;
  bool first = true, told = false;
  const auto harmless = [&](Stamp touched, const Cell* written = nullptr) {
    const bool settles = time_of(touched) < settled || same_thread(touched, mine);
    return (settles && (touched & kEngine) == 0) || s.ordered(touched, written);
  };
  for (; count > 0; --count, ++cell) {
    const Stamp write = cell->write, read = cell->read;
    if (first || write != seen_write || read != seen_read || sort == Sort::atomic) {
      first = false;
      seen_write = write;
      seen_read = read;
      if (sort != Sort::write && time_of(write) < initialised_from && !told) {
        told = true;
        found(Finding::uninitialised, where(), "is read, but nothing wrote it");
      }
      const bool both_atomic = (sort == Sort::atomic || sort == Sort::fresh) && (write & kAtomic) != 0;
      const bool write_harmless = harmless(write, cell);
      if (!both_atomic && !write_harmless && !told) {
        told = true;
        found_race(where(), does(sort), write, (write & kAtomic) != 0 ? "changed atomically" : "wrote");
      }
      if constexpr (sort == Sort::constant)
        if (time_of(write) >= s.launch_start && !told) {
          told = true;
          found_race(where(), "reads as constant", write, "wrote");
        }
      if constexpr (reads_only(sort)) {
        const Stamp kept = time_of(read) >= s.launch_start ? read & kConstant : 0;
        if (sort == Sort::read && joined(read, mine))
          next = read;
        else if (harmless(read))
          next = mine | kept | (sort == Sort::fresh ? kAtomic : 0);
        else if (sort == Sort::fresh && (read & kAtomic) == 0)
          next = read;  // a plain reader matters more: it races with atomics too
        else if (sort != Sort::fresh && (read & kAtomic) != 0)
          next = mine | kept;
        else
          next = together(read, mine, among_gates) | kept | (read & kAtomic);
        if (sort == Sort::constant) next |= kConstant;
      } else {
        const bool constant = (read & kConstant) != 0 && time_of(read) >= s.launch_start;
        const bool fresh = sort == Sort::atomic && (read & kAtomic) != 0;
        if ((constant || (!fresh && !harmless(read))) && !told) {
          told = true;
          found_race(where(), does(sort), read, constant ? "read as constant" : "read");
        }
        next = by != 0 ? by : mine;
        if (sort == Sort::atomic) next = changed_with(cell, write, both_atomic && !write_harmless);
      }
    }
    if constexpr (reads_only(sort)) {
      if (read != next) cell->read = next;
    } else {
      cell->write = next;
      cell->read = 0;
    }
  }
}

template <Sort sort> void* global(Allocation* range, std::uintptr_t at, int bytes, int align) {
  // A spinning thread is no progress: it must not put off the end of a launch in which nobody can go on.
  if (sort != Sort::fresh) count_access();
  const std::int64_t offset = range == nullptr ? -1 : range->locate(at, static_cast<std::uint64_t>(bytes));
  if (offset < 0) [[unlikely]] {
    if (range == nullptr)
      found(Finding::out_of_bounds, "an address", std::string("of no operand: ") + does(sort) + " it");
    else
      found(Finding::out_of_bounds, place(*range, static_cast<std::int64_t>(at - range->base)),
            std::string("lies outside: ") + does(sort) + " " + std::to_string(bytes) + " bytes there");
    return nullptr;
  }
  if ((at & static_cast<std::uintptr_t>(align - 1)) != 0) [[unlikely]] {
    found(Finding::misaligned, place(*range, offset), "is no multiple of " + std::to_string(align));
    return nullptr;
  }
  State& s = *state;
  if constexpr (!reads_only(sort)) {
    ++s.progress;
    if (!range->writable) [[unlikely]] {
      found(Finding::read_only, place(*range, offset), "is written");
      return nullptr;
    }
  }
  if (range->cells)
    pass<sort>(range->cells.get() + offset / 2, bytes / 2, s.thread->block->settled_global, range->initialised ? 0 : 1,
               [&] { return place(*range, offset); });
  return range->data + offset;
}

inline std::string shared_place(std::int64_t at, const Block& block) {
  std::string text = "shared memory byte " + std::to_string(at);
  if (&block != state->thread->block) text += " of block " + std::to_string(block.index);
  return text;
}

// Null, or where the access lies; nothing is marked yet.
inline void* locate_shared(Block& block, std::int64_t at, int bytes, int align) {
  if (at < 0 || at + bytes > state->launch->shared_bytes) [[unlikely]] {
    found(Finding::out_of_bounds, shared_place(at, block),
          "lies outside: there are " + std::to_string(state->launch->shared_bytes));
    return nullptr;
  }
  if ((at & (align - 1)) != 0) [[unlikely]] {
    found(Finding::misaligned, shared_place(at, block), "is no multiple of " + std::to_string(align));
    return nullptr;
  }
  return block.shared.get() + at;
}

// From when on accesses to those bytes need no other order.
inline std::uint32_t settled_at(const Block& block, std::int64_t at, int bytes) {
  const Block& mine = *state->thread->block;
  if (block.mailed.empty()) return mine.settled_shared;
  const auto first = block.mailed.begin() + at / 2;
  const bool mailed = std::find(first, first + bytes / 2, false) == first + bytes / 2;
  return mailed ? std::max(mine.settled_shared, mine.settled_mail) : mine.settled_shared;
}

template <Sort sort> void* shared(Block& block, std::int64_t at, int bytes, int align) {
  count_access();
  void* there = locate_shared(block, at, bytes, align);
  if (there == nullptr) return nullptr;
  if constexpr (sort == Sort::write) ++state->progress;
  pass<sort>(
      block.cells.get() + at / 2, bytes / 2, settled_at(block, at, bytes), block.start,
      [&] { return shared_place(at, block); }, state->gated);
  return there;
}

}  // namespace tokitai::lockstep

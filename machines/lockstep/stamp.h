// A stamp says who touched something and when, in 64 bits: time, thread, and how many touched it at once.
//
// The engine runs one thread at a time, so one counter serves as the time of the whole launch. It moves at every
// event that orders memory. What a barrier orders is then a comparison: an access of the block lies before its
// last barrier if and only if its time is smaller than the barrier's.
#pragma once
#include <cstdint>

namespace tokitai::lockstep {

using Stamp = std::uint64_t;  // 0: nobody

// Who else touched it, unordered with the thread in the stamp: only the widest circle is kept.
// Listed: the
// groups of 32 that read it, each with its time, are in State::readers, and the stamp has their number there.
enum class Circle : std::uint32_t { thread, group, block, cluster, grid, listed };

inline constexpr Stamp kCircleBits = 7;
inline constexpr Stamp kAtomic = 8;     // by an atomic operation
inline constexpr Stamp kConstant = 16;  // by load_constant: nothing may write it in this launch
inline constexpr Stamp kEngine = 32;    // by the copy engine: in the thread's place its gate, which alone orders it
inline constexpr int kMaxThreads = 1 << 24;
inline constexpr int kMostGates = 64;  // of a block

constexpr Stamp make_stamp(std::uint32_t time, std::uint32_t thread) {
  return static_cast<Stamp>(time) << 32 | static_cast<Stamp>(thread) << 8;
}
constexpr std::uint32_t time_of(Stamp s) { return static_cast<std::uint32_t>(s >> 32); }
constexpr std::uint32_t thread_of(Stamp s) { return static_cast<std::uint32_t>(s >> 8) & 0xffffffu; }
constexpr Circle circle_of(Stamp s) { return static_cast<Circle>(s & kCircleBits); }
// By this one thread and nobody else.
constexpr bool same_thread(Stamp a, Stamp alone) { return ((a ^ alone) & (0xffffff00u | kCircleBits)) == 0; }

}  // namespace tokitai::lockstep

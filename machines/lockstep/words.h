// What the words of alias.h are made of. Each acts for the thread that runs now. A kernel that was compiled as a
// library of its own (TK_LOCKSTEP_LIBRARY) reaches them through a table that whoever loads it puts in, so that the
// program has to export nothing.
#pragma once
#include <cstdint>

namespace tokitai::lockstep {

struct Allocation;
enum class Exchange { shuffle, shuffle_xor, shuffle_up };
// Forms of a product: f16, bf16 or bytes; and of halves whether a factor lies along its lines.
inline constexpr int kF16Products = 0, kBf16Products = 1, kByteProducts = 2, kLeftAlong = 4, kRightAlong = 8;
inline constexpr int kOwnRank = -1;  // of gate_arrive

// X(result, name, parameters, arguments). The accesses check, and answer where they may be made, or null.
#define TK_LOCKSTEP_WORDS(X)                                                                                          \
  X(int, thread_index, (), ())                                                                                        \
  X(int, block_index, (), ())                                                                                         \
  X(int, grid_size, (), ())                                                                                           \
  X(int, cluster_rank, (), ())                                                                                        \
  X(void, barrier, (), ())                                                                                            \
  X(void, warp_barrier, (), ())                                                                                       \
  X(void, cluster_barrier, (), ())                                                                                    \
  X(void, fence, (), ())                                                                                              \
  X(void, wait_a_little, (), ())                                                                                      \
  X(void, await_earlier, (), ())                                                                                      \
  X(void, as_proved, (bool same), (same))                                                                             \
  X(std::uint32_t, exchange, (Exchange kind, std::uint32_t value, int lane), (kind, value, lane))                     \
  X(std::uint32_t, ballot, (bool yes), (yes))                                                                         \
  X(Allocation*, find, (const void* p), (p))                                                                          \
  X(const void*, read_global, (Allocation * range, std::uintptr_t at, int bytes, int align),                          \
    (range, at, bytes, align))                                                                                        \
  X(const void*, read_constant, (Allocation * range, std::uintptr_t at, int bytes, int align),                        \
    (range, at, bytes, align))                                                                                        \
  X(void*, write_global, (Allocation * range, std::uintptr_t at, int bytes, int align), (range, at, bytes, align))    \
  X(const void*, read_shared, (std::int64_t at, int bytes, int align), (at, bytes, align))                            \
  X(void*, write_shared, (std::int64_t at, int bytes, int align), (at, bytes, align))                                 \
  X(void*, write_cluster, (std::int64_t at, int rank, int bytes, int align), (at, rank, bytes, align))                \
  X(void, mailbox_open, (std::int64_t at), (at))                                                                      \
  X(void, mailbox_expect, (std::int64_t at, int bytes), (at, bytes))                                                  \
  X(void, mailbox_arrive, (std::int64_t at, int rank, int bytes), (at, rank, bytes))                                  \
  X(void, mailbox_await, (std::int64_t at, std::uint32_t parity), (at, parity))                                       \
  X(std::uint32_t, atomic_add, (Allocation * range, std::uintptr_t at, std::uint32_t v), (range, at, v))              \
  X(void, atomic_min, (Allocation * range, std::uintptr_t at, std::uint64_t v), (range, at, v))                       \
  X(void, atomic_count, (Allocation * range, std::uintptr_t at, std::uint64_t v), (range, at, v))                     \
  X(std::uint32_t, load_fresh, (Allocation * range, std::uintptr_t at), (range, at))                                  \
  X(void, copy_async, (std::int64_t to, Allocation* range, std::uintptr_t from, int bytes), (to, range, from, bytes)) \
  X(void, copy_commit, (), ())                                                                                        \
  X(void, copy_wait, (int pending), (pending))                                                                        \
  X(void, gate_open, (std::int64_t at, int arrivals), (at, arrivals))                                                 \
  X(void, gates_opened, (), ())                                                                                       \
  X(void, gate_expect, (std::int64_t at, int bytes), (at, bytes))                                                     \
  X(void, gate_arrive, (std::int64_t at, int rank), (at, rank))                                                       \
  X(void, gate_await, (std::int64_t at, std::uint32_t parity), (at, parity))                                          \
  X(void, load_box, (std::uint32_t ranks, std::int64_t to, const void* map, int x, int y, int z, std::int64_t gate),  \
    (ranks, to, map, x, y, z, gate))                                                                                  \
  X(void, store_box, (const void* map, int x, int y, int z, std::int64_t from), (map, x, y, z, from))                 \
  X(void, stored_boxes, (int pending), (pending))                                                                     \
  X(void, boxes_fence, (), ())                                                                                        \
  X(void, multiply, (void* sums, int count, int form, std::uint64_t a, std::uint64_t b, bool accumulate),             \
    (sums, count, form, a, b, accumulate))                                                                            \
  X(void, multiply_fence, (), ())                                                                                     \
  X(void, multiply_commit, (), ())                                                                                    \
  X(void, multiply_wait, (int pending), (pending))                                                                    \
  X(void, load_matrices, (std::uint32_t(&piece)[4]), (piece))                                                         \
  X(void, multiply_bytes, (int form, int* sums, const std::uint32_t* a, const std::uint32_t* b), (form, sums, a, b))

struct Words {
#define TK_MEMBER(result, name, parameters, arguments) result(*name) parameters;
  TK_LOCKSTEP_WORDS(TK_MEMBER)
#undef TK_MEMBER
};

#if defined(TK_LOCKSTEP_LIBRARY)
// Not inline: the loader would give all libraries of the program one and the same. A library is one file of text.
extern "C" {
__attribute__((visibility("default"))) const Words* tokitai_lockstep_words = nullptr;
}
#define TK_FORWARD(result, name, parameters, arguments) \
  inline result name parameters { return tokitai_lockstep_words->name arguments; }
TK_LOCKSTEP_WORDS(TK_FORWARD)
#undef TK_FORWARD
#else
#define TK_DECLARE(result, name, parameters, arguments) result name parameters;
TK_LOCKSTEP_WORDS(TK_DECLARE)
#undef TK_DECLARE
#endif

}  // namespace tokitai::lockstep

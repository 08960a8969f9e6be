// The words of machines/device/alias_tensor.h and multiply.h for threads that are fibers on the CPU. Each stands for
// one operation of a GPU; that it behaves as said here is what every result of the lockstep machine assumes
// (README.md).
#pragma once
#include "machines/device/alias_bytes.h"
#include "machines/device/arguments.h"
#include "machines/device/kinds.h"
#include "machines/device/place.h"

namespace tokitai::device {

TK_FN Place<Given<Counted>, int> group_index() { return group_of_thread(thread_index()); }
template <int count> TK_FN void registers_down() {}
template <int count> TK_FN void registers_up() {}

using Gate = SharedSpot<u64>;
TK_FN void gate_open(const Gate& g, int arrivals) { lockstep::gate_open(checked(g).address(), arrivals); }
TK_FN void gates_opened() { lockstep::gates_opened(); }
TK_FN void gate_expect(const Gate& g, int bytes) { lockstep::gate_expect(checked(g).address(), bytes); }
TK_FN void gate_arrive(const Gate& g) { lockstep::gate_arrive(checked(g).address(), lockstep::kOwnRank); }
TK_FN void gate_arrive_at(const Gate& g, Counter rank) { lockstep::gate_arrive(checked(g).address(), rank); }
TK_FN void gate_await(const Gate& g, u32 phase) { lockstep::gate_await(checked(g).address(), phase); }

TK_FN void map_ahead(const Map&) {}
TK_FN void load_box_for(u32 blocks, const SharedSpot<u16>& to, const Map& map, Place<Corner, int> x,
                        Place<Corner, int> y, Counter z, const Gate& g) {
  lockstep::load_box(blocks, checked(to).address(), map.word, x, y, z, checked(g).address());
}
TK_FN void load_box(const SharedSpot<u16>& to, const Map& map, Place<Corner, int> x, Place<Corner, int> y, Counter z,
                    const Gate& g) {
  load_box_for(0, to, map, x, y, z, g);
}
TK_FN void store_box(const Map& map, Place<Corner, int> x, Place<Corner, int> y, Counter z,
                     const SharedSpot<u32>& from) {
  lockstep::store_box(map.word, x, y, z, checked(from).address());
}
template <int pending> TK_FN void stored_boxes_read() { lockstep::stored_boxes(pending); }
TK_FN void stored_boxes_written() { lockstep::stored_boxes(0); }
TK_FN void boxes_fence() { lockstep::boxes_fence(); }

// A byte of shared memory, made by factor_at alone.
class Factor {
 public:
  TK_FN u64 byte() const { return byte_; }

 private:
  friend Factor factor_at(const SharedSpot<u16>& p);
  friend Factor factor_behind(Factor f, Counter halves);
  TK_FN explicit Factor(u64 byte) : byte_(byte) {}
  u64 byte_;
};
TK_FN Factor factor_at(const SharedSpot<u16>& p) { return Factor(static_cast<u64>(checked(p).address())); }
TK_FN Factor factor_behind(Factor f, Counter halves) { return Factor(f.byte_ + static_cast<u64>(2 * halves)); }
TK_FN void multiply_fence() { lockstep::multiply_fence(); }
TK_FN void multiply_commit() { lockstep::multiply_commit(); }
template <int pending> TK_FN void multiply_wait() { lockstep::multiply_wait(pending); }
template <Kind K, int a_along_lines, int b_along_lines, int count>
TK_FN void multiply(float (&sums)[count], Factor a, Factor b, bool accumulate) {
  static_assert(count == 64 || count == 96 || count == 128, "what tensor cores can do");
  constexpr int kForm = (K == Kind::f16 ? lockstep::kF16Products : lockstep::kBf16Products) |
                        (a_along_lines != 0 ? lockstep::kLeftAlong : 0) |
                        (b_along_lines != 0 ? lockstep::kRightAlong : 0);
  lockstep::multiply(sums, count, kForm, a.byte(), b.byte(), accumulate);
}
template <int count> TK_FN void multiply(int (&sums)[count], Factor a, Factor b, bool accumulate) {
  static_assert(count == 64 || count == 96, "what tensor cores can do");
  lockstep::multiply(sums, count, lockstep::kByteProducts, a.byte(), b.byte(), accumulate);
}
// Shared memory begins at such a multiple here; that it does on a GPU is checked there.
TK_FN void check_ring(const SharedSpot<u16>&) {}

TK_FN void store_matrices(const SharedSpot<u32>& row, u32 a, u32 b, u32 c, u32 d) {
  const u32 words[4] = {a, b, c, d};
  const int lane = lockstep::thread_index() % 32;
  const u32 mine = static_cast<u32>(checked(row).address());
  for (int matrix = 0; matrix < 4; ++matrix) {
    const u32 at = lockstep::exchange(lockstep::Exchange::shuffle, mine, matrix * 8 + lane / 4);
    if (at % 16 != 0) lockstep::write_shared(at, 4, 16);  // finds it
    void* there = lockstep::write_shared(at + lane % 4 * 4, 4, 4);
    if (there != nullptr) std::memcpy(there, &words[matrix], 4);
  }
}

}  // namespace tokitai::device

// The words of machines/device/alias.h for threads that are fibers on the CPU. Each stands for one operation of a
// GPU; that it behaves as said here is what every result of the lockstep machine assumes.
#pragma once
#include <bit>
#include <cstring>

#include "machines/device/access.h"
#include "machines/lockstep/pointers.h"

#ifndef TK_KERNEL  // a file that holds kernels of names that others hold too says `static void`
#define TK_KERNEL(threads, blocks) extern "C" __attribute__((visibility("default"))) void
#endif
#define TK_ARGUMENT const
#define TK_UNROLL
// What a GPU computes beside what is proved (machines/device/place.h): kernels compare both wherever they are computed
// and go on with what is proved. The prover reads that alone.
#if defined(TK_LOCKSTEP_LIBRARY)
#define TK_AS_PROVED(written, proved) ::tokitai::device::as_proved(written, proved)
#else
#define TK_AS_PROVED(written, proved) (proved)
#endif

#include "numerics/half.h"

namespace tokitai::device {

#if defined(TK_LOCKSTEP_LIBRARY)
// Kernels: only places index memory (strict.h).
template <class T, class Space, class P, class... Spaces>
TK_FN Global<T, Space> global(const Address<P, Spaces...>& a) {
  static_assert((std::is_same_v<Space, Spaces> || ...), "this memory is not indexed so");
  return Global<T, Space>(CheckedGlobal<T>(a.number(), lockstep::find(a.pointer())));
}
template <class T, class P> TK_FN GlobalSpot<T> global_one(const Address<P>& a) {
  return GlobalSpot<T>(CheckedGlobal<T>(a.number(), lockstep::find(a.pointer())));
}
template <class T, class Space> TK_FN Shared<T, Space> shared(Place<Byte<Space>, int> byte) {
  return Shared<T, Space>(CheckedShared<T>(static_cast<int>(byte)));
}
template <class To, class From> TK_FN GlobalSpot<To> cast(const GlobalSpot<From>& p) {
  return GlobalSpot<To>(CheckedGlobal<To>(p.checked().address(), p.checked().range()));
}
template <class To, class From> TK_FN SharedSpot<To> cast(const SharedSpot<From>& p) {
  return SharedSpot<To>(CheckedShared<To>(p.checked().address()));
}
template <class Checked> TK_FN const Checked& checked(const Spot<Checked>& p) { return p.checked(); }
TK_FN Place<Thread, int> thread_index() { return lockstep::thread_index(); }
TK_FN Place<Block, int> block_index() { return lockstep::block_index(); }
TK_FN Place<Given<Rank>, int> cluster_rank() { return lockstep::cluster_rank(); }
template <class T> TK_FN T as_proved(const T& written, const T& proved) {
  lockstep::as_proved(written == proved);
  return proved;
}
#else
// Tests of this machine: any index.
template <class T, class Space = Workspace> using Global = CheckedGlobal<T>;
template <class T, class Space = Workspace> using Shared = CheckedShared<T>;
template <class T> using GlobalSpot = CheckedGlobal<T>;
template <class T> using SharedSpot = CheckedShared<T>;
template <class T, class Space = Workspace> TK_FN CheckedGlobal<T> global(const void* p) {
  return {reinterpret_cast<std::uintptr_t>(p), lockstep::find(p)};
}
template <class T> TK_FN CheckedGlobal<T> global_one(const void* p) { return global<T>(p); }
template <class T, class Space = Workspace> TK_FN CheckedShared<T> shared(int byte) { return CheckedShared<T>(byte); }
template <class To, class From> TK_FN CheckedGlobal<To> cast(CheckedGlobal<From> p) { return {p.address(), p.range()}; }
template <class To, class From> TK_FN CheckedShared<To> cast(CheckedShared<From> p) {
  return CheckedShared<To>(p.address());
}
template <class Pointer> TK_FN Pointer checked(Pointer p) { return p; }
TK_FN int thread_index() { return lockstep::thread_index(); }
TK_FN int block_index() { return lockstep::block_index(); }
TK_FN int cluster_rank() { return lockstep::cluster_rank(); }
#endif
TK_FN int grid_size() { return lockstep::grid_size(); }
TK_FN void barrier() { lockstep::barrier(); }
TK_FN void warp_barrier() { lockstep::warp_barrier(); }
TK_FN void cluster_barrier() { lockstep::cluster_barrier(); }
TK_FN void fence() { lockstep::fence(); }
TK_FN void wait_a_little() { lockstep::wait_a_little(); }
// Launches run one after the other here; that one which may overlap waits before it touches memory is checked.
TK_FN void await_earlier() { lockstep::await_earlier(); }
TK_FN void let_next_begin() {}

TK_FN u32 shuffle_xor(u32 v, int mask) { return lockstep::exchange(lockstep::Exchange::shuffle_xor, v, mask); }
TK_FN u32 shuffle(u32 v, int lane) { return lockstep::exchange(lockstep::Exchange::shuffle, v, lane); }
TK_FN u32 shuffle_up(u32 v, int by) { return lockstep::exchange(lockstep::Exchange::shuffle_up, v, by); }
TK_FN float shuffle_xor(float v, int mask) { return std::bit_cast<float>(shuffle_xor(std::bit_cast<u32>(v), mask)); }
TK_FN float shuffle(float v, int lane) { return std::bit_cast<float>(shuffle(std::bit_cast<u32>(v), lane)); }
TK_FN u32 ballot(bool yes) { return lockstep::ballot(yes); }
TK_FN int count_bits(u32 v) { return std::popcount(v); }

TK_FN float widen_half(u16 h) { return widen_f16(h); }
TK_FN u32 narrow_halves(float low, float high) {
  return static_cast<u32>(narrow_f16(low)) | static_cast<u32>(narrow_f16(high)) << 16;
}
TK_FN u32 narrow_bfloats(float low, float high) {
  return static_cast<u32>(narrow_bf16(low)) | static_cast<u32>(narrow_bf16(high)) << 16;
}

// The source may be const or not, so it takes no part in deduction.
template <int bytes, class T>
TK_FN void copy_async(const SharedSpot<T>& to, const std::type_identity_t<GlobalSpot<const T>>& from) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what the copy engine can do");
  static_assert(bytes == sizeof(T), "one element, so that every target copies the same");
  lockstep::copy_async(checked(to).address(), checked(from).range(), checked(from).address(), bytes);
}
TK_FN void copy_commit() { lockstep::copy_commit(); }
template <int pending> TK_FN void copy_wait() { lockstep::copy_wait(pending); }

template <class T> TK_FN std::remove_const_t<T> load_constant(const GlobalSpot<T>& p, Counter i) {
  return checked(p + i).load_constant();
}

TK_FN void atomic_min(const GlobalSpot<u64>& p, u64 v) {
  lockstep::atomic_min(checked(p).range(), checked(p).address(), v);
}
TK_FN u32 atomic_add(const GlobalSpot<u32>& p, u32 v) {
  return lockstep::atomic_add(checked(p).range(), checked(p).address(), v);
}
TK_FN void atomic_count(const GlobalSpot<u64>& p, u64 v) {
  lockstep::atomic_count(checked(p).range(), checked(p).address(), v);
}
TK_FN u32 load_fresh(const GlobalSpot<u32>& p) {
  return lockstep::load_fresh(checked(p).range(), checked(p).address());
}

TK_FN void cluster_store(const SharedSpot<float>& p, int rank, float v) {
  void* there = lockstep::write_cluster(checked(p).address(), rank, sizeof(v), alignof(float));
  if (there != nullptr) std::memcpy(there, &v, sizeof(v));
}
// A mailbox orders what was sent to it before what is read after the wait, and no other memory. Every thread of the
// cluster waits once per exchange. Bytes and phases are counted as the hardware counts them.
using Mailbox = SharedSpot<u64>;
TK_FN void mailbox_open(const Mailbox& m) { lockstep::mailbox_open(checked(m).address()); }
TK_FN void mailbox_expect(const Mailbox& m, int bytes) { lockstep::mailbox_expect(checked(m).address(), bytes); }
TK_FN void mailbox_send(const Mailbox& m, const SharedSpot<float>& place, Counter rank, float v) {
  cluster_store(place, rank, v);
  lockstep::mailbox_arrive(checked(m).address(), rank, sizeof(v));
}
TK_FN void mailbox_await(const Mailbox& m, u32 parity) { lockstep::mailbox_await(checked(m).address(), parity); }

}  // namespace tokitai::device

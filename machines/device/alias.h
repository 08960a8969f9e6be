// The only target-specific lines a kernel ever sees: NVIDIA through NVRTC, AMD through clang, and the lockstep
// machine, which runs the same text on the CPU with one fiber per thread. Groups of 32 threads are the unit of
// every exchange, on wave64 too. Every assembly, copy-engine, cluster and barrier operation lives here.
#pragma once
#if defined(TK_LOCKSTEP)
#include "machines/lockstep/alias.h"
#else

#if defined(__CUDACC_RTC__)
#define TK_FN __device__ __forceinline__
#define TK_KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define TK_ARGUMENT const __grid_constant__
#define TK_UNROLL _Pragma("unroll")
#else
#define TK_FN inline __attribute__((device, always_inline))
#define TK_KERNEL(threads, blocks) \
  extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#define TK_ARGUMENT const
#define TK_UNROLL _Pragma("clang loop unroll(full)")
#endif

// Two texts of one index (place.h): a GPU computes the one that its compiler makes better code of.
#define TK_AS_PROVED(written, proved) (written)

#include <bit>
#include <cstdint>

#include "machines/device/access.h"

namespace tokitai::device {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// Access types (access.h): memory that places of a space index, and one place of it. Plain pointers on a GPU.
template <class T, class Space> using Global = T*;
template <class T, class Space> using Shared = T*;
template <class T> using GlobalSpot = T*;
template <class T> using SharedSpot = T*;
template <class T, class Space> TK_FN T* global(const void* p) { return static_cast<T*>(const_cast<void*>(p)); }
template <class T> TK_FN T* global_one(const void* p) { return static_cast<T*>(const_cast<void*>(p)); }
template <class To, class From> TK_FN To* cast(From* p) { return reinterpret_cast<To*>(p); }

#if defined(__CUDACC_RTC__)

TK_FN int thread_index() { return static_cast<int>(threadIdx.x); }
TK_FN int block_index() { return static_cast<int>(blockIdx.x); }
TK_FN int grid_size() { return static_cast<int>(gridDim.x); }
TK_FN void barrier() { __syncthreads(); }
TK_FN void warp_barrier() { __syncwarp(); }
TK_FN void fence() { __threadfence(); }
TK_FN float shuffle_xor(float v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
TK_FN u32 shuffle_xor(u32 v, int mask) { return __shfl_xor_sync(0xffffffffu, v, mask); }
TK_FN float shuffle(float v, int lane) { return __shfl_sync(0xffffffffu, v, lane); }
TK_FN u32 shuffle(u32 v, int lane) { return __shfl_sync(0xffffffffu, v, lane); }
TK_FN u32 shuffle_up(u32 v, int by) { return __shfl_up_sync(0xffffffffu, v, static_cast<unsigned>(by)); }
TK_FN u32 ballot(bool yes) { return __ballot_sync(0xffffffffu, yes); }
TK_FN int count_bits(u32 v) { return __popc(v); }

template <class T, class Space> TK_FN T* shared(int byte) {
  extern __shared__ __attribute__((aligned(16))) unsigned char memory[];
  return reinterpret_cast<T*>(memory + byte);
}

TK_FN float widen_half(u16 h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
// Two roundings to nearest even in one instruction; NaN comes out as 0x7fff, which as a signed integer is the
// only pattern above the canonical one.
#if __CUDA_ARCH__ >= 900
TK_FN u32 lower_of_each(u32 a, u32 b) {
  u32 d;
  asm("min.s16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
#else
TK_FN u32 lower_of_each(u32 a, u32 b) {
  const int low = min(static_cast<short>(a), static_cast<short>(b));
  const int high = min(static_cast<int>(a) >> 16, static_cast<int>(b) >> 16);
  return __byte_perm(static_cast<u32>(low), static_cast<u32>(high), 0x5410);
}
#endif
TK_FN u32 narrow_halves(float low, float high) {
  u32 d;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
  return lower_of_each(d, 0x7e007e00u);
}
TK_FN u32 narrow_bfloats(float low, float high) {
  u32 d;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
  return lower_of_each(d, 0x7fc07fc0u);
}

// Copies to this thread's own place in shared memory while it goes on; waited for by the thread alone.
template <int bytes, class T> TK_FN void copy_async(SharedSpot<T> to, GlobalSpot<const T> from) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes) : "memory");
}
TK_FN void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending> TK_FN void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }

// What nobody writes while the kernel runs, in one access: NVRTC would read words that are wanted one by one on their
// own.
template <class T> TK_FN T load_constant(GlobalSpot<const T> from, int i) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  T v;
  if constexpr (sizeof(T) == 16)
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
        : "l"(from + i));
  else if constexpr (sizeof(T) == 8)
    asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(v.word[0]), "=r"(v.word[1]) : "l"(from + i));
  else
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(v.word[0]) : "l"(from + i));
  return v;
}

TK_FN void atomic_min(GlobalSpot<u64> p, u64 v) { atomicMin(reinterpret_cast<unsigned long long*>(p), v); }
TK_FN u32 atomic_add(GlobalSpot<u32> p, u32 v) { return atomicAdd(p, v); }
TK_FN void atomic_count(GlobalSpot<u64> p, u64 v) { atomicAdd(reinterpret_cast<unsigned long long*>(p), v); }
TK_FN u32 load_fresh(GlobalSpot<u32> p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
TK_FN void wait_a_little() { __nanosleep(20); }

// A call's second launch may be set up while the first one runs: it waits here before it touches memory.
#if __CUDA_ARCH__ >= 900
TK_FN void await_earlier() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
TK_FN void let_next_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
#else
TK_FN void await_earlier() {}
TK_FN void let_next_begin() {}
#endif

#if __CUDA_ARCH__ >= 900
TK_FN int cluster_rank() {
  u32 r;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return static_cast<int>(r);
}
TK_FN void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Values sent to every block of a cluster: a box's arrival is awaited through a barrier object in its own shared
// memory that counts the bytes. (A cluster barrier would also wait for every store to global memory.)
using Mailbox = SharedSpot<u64>;
TK_FN u32 address_of(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
TK_FN void mailbox_open(Mailbox m) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(m)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// By one thread of each block, once per exchange: so many bytes will come.
TK_FN void mailbox_expect(Mailbox m, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(m)), "r"(bytes) : "memory");
}
// To the same place of another block, where that block's mailbox counts it.
TK_FN void mailbox_send(Mailbox m, SharedSpot<float> place, int rank, float v) {
  u32 there, box;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address_of(place)), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(box) : "r"(address_of(m)), "r"(rank));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there),
               "r"(__float_as_uint(v)), "r"(box)
               : "memory");
}
TK_FN void mailbox_await(Mailbox m, u32 phase) {
  u32 done = 0;
  while (done == 0)
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, "
        "p;\n}"
        : "=r"(done)
        : "r"(address_of(m)), "r"(phase)
        : "memory");
}
#endif

#else  // AMD

TK_FN int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
TK_FN int block_index() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
TK_FN int grid_size() { return static_cast<int>(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()); }
TK_FN void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
TK_FN void warp_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
TK_FN void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
TK_FN int wave_lane() { return static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))); }
TK_FN u32 fetch(u32 v, int lane) {
  return static_cast<u32>(__builtin_amdgcn_ds_bpermute(lane * 4, static_cast<int>(v)));
}
TK_FN u32 shuffle_xor(u32 v, int mask) { return fetch(v, wave_lane() ^ mask); }
TK_FN u32 shuffle(u32 v, int lane) { return fetch(v, (wave_lane() & ~31) | lane); }
TK_FN u32 shuffle_up(u32 v, int by) {
  const int lane = wave_lane();
  return fetch(v, (lane & 31) < by ? lane : lane - by);
}
TK_FN float shuffle_xor(float v, int mask) { return std::bit_cast<float>(shuffle_xor(std::bit_cast<u32>(v), mask)); }
TK_FN float shuffle(float v, int lane) { return std::bit_cast<float>(shuffle(std::bit_cast<u32>(v), lane)); }
TK_FN u32 ballot(bool yes) {
#if defined(__AMDGCN_WAVEFRONT_SIZE__) && __AMDGCN_WAVEFRONT_SIZE__ == 32
  return __builtin_amdgcn_ballot_w32(yes);
#else
  return static_cast<u32>(__builtin_amdgcn_ballot_w64(yes) >> (wave_lane() & 32));
#endif
}
TK_FN int count_bits(u32 v) { return __builtin_popcount(v); }

template <class T, class Space> TK_FN T* shared(int byte) {
  extern __attribute__((shared)) __attribute__((aligned(16))) unsigned char memory[];
  return reinterpret_cast<T*>(memory + byte);
}

// The empty assembly hides conversions from their neighbours: clang would fold them into mixed-precision
// instructions (v_fma_mix_f32, and v_fma_mixlo_f16, which loses the sign of zero).
TK_FN float widen_half(u16 h) {
  float f = static_cast<float>(__builtin_bit_cast(_Float16, h));
  asm("" : "+v"(f));
  return f;
}
TK_FN u32 narrow_half(float f) {
  asm("" : "+v"(f));
  return f != f ? 0x7e00u : __builtin_bit_cast(u16, static_cast<_Float16>(f));
}
TK_FN u32 narrow_halves(float low, float high) { return narrow_half(low) | narrow_half(high) << 16; }
TK_FN u32 narrow_bfloat(float f) {
  const u32 u = std::bit_cast<u32>(f);
  return f != f ? 0x7fc0u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
}
TK_FN u32 narrow_bfloats(float low, float high) { return narrow_bfloat(low) | narrow_bfloat(high) << 16; }

template <int bytes, class T> TK_FN void copy_async(SharedSpot<T> to, GlobalSpot<const T> from) { *to = *from; }
TK_FN void copy_commit() {}
template <int pending> TK_FN void copy_wait() {}

template <class T> TK_FN T load_constant(GlobalSpot<const T> from, int i) { return from[i]; }

TK_FN void atomic_min(GlobalSpot<u64> p, u64 v) {
  __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
TK_FN u32 atomic_add(GlobalSpot<u32> p, u32 v) {
  return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
TK_FN void atomic_count(GlobalSpot<u64> p, u64 v) {
  __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
TK_FN u32 load_fresh(GlobalSpot<u32> p) { return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT); }
TK_FN void wait_a_little() { __builtin_amdgcn_s_sleep(1); }
TK_FN void await_earlier() {}
TK_FN void let_next_begin() {}

#endif

#if !defined(__CUDACC_RTC__) || __CUDA_ARCH__ < 900
// No clusters: a plan for such a target has none, so that nobody calls these.
using Mailbox = SharedSpot<u64>;
TK_FN int cluster_rank() { return 0; }
TK_FN void cluster_barrier() {}
TK_FN void mailbox_open(Mailbox) {}
TK_FN void mailbox_expect(Mailbox, int) {}
TK_FN void mailbox_send(Mailbox, SharedSpot<float>, int, float) {}
TK_FN void mailbox_await(Mailbox, u32) {}
#endif

}  // namespace tokitai::device
#endif

// The words of a warp-specialised product: gates that count arrivals and bytes, the copy engine's boxes, tensor cores.
// Beside alias.h and alias_bytes.h the only lines that depend on the target: Hopper through NVRTC, and the lockstep
// machine's twins.
#pragma once
#include "machines/device/alias_bytes.h"
#include "machines/device/arguments.h"
#if defined(TK_LOCKSTEP)
#include "machines/lockstep/alias_tensor.h"
#else
#include "machines/device/multiply.h"

namespace tokitai::device {

// The number of this thread's group of 32, known to be the same in it.
TK_FN int group_index() { return __shfl_sync(0xffffffffu, thread_index() / 32, 0); }
// Registers of a thread, from here on: a group of 128 gives what others take.
template <int count> TK_FN void registers_down() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count)); }
template <int count> TK_FN void registers_up() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count)); }

// A gate lets its phase pass when so many have arrived and the bytes that were announced have come.
using Gate = SharedSpot<u64>;
TK_FN void gate_open(Gate g, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(g)), "r"(arrivals) : "memory");
}
TK_FN void gates_opened() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
TK_FN void gate_expect(Gate g, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(g)), "r"(bytes) : "memory");
}
// Of scope cta, at another block's gate too: with .cluster every arrival is a fence of the whole device. What it orders
// are the reads of tensor cores, which have ended.
TK_FN void gate_arrive(Gate g) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(g)) : "memory");
}
TK_FN void gate_arrive_at(Gate g, int rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(address_of(g)),
      "r"(rank)
      : "memory");
}
// Ends in an error where it would never end.
TK_FN void gate_await(Gate g, u32 phase) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .u32 tries;\nmov.u32 tries, 0;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nadd.u32 tries, tries, 1;\n"
      "setp.lt.u32 p, tries, 0x4000000;\n@p bra again;\ntrap;\ndone:\n}" ::"r"(address_of(g)),
      "r"(phase)
      : "memory");
}

// The copy engine. A box lies at (x, y) of a map's plane z; what lies outside the map is zero, or not written.
TK_FN void map_ahead(const Map& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
TK_FN void load_box(SharedSpot<u16> to, const Map& map, int x, int y, int z, Gate g) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(address_of(to)),
      "l"(&map), "r"(address_of(g)), "r"(x), "r"(y), "r"(z)
      : "memory");
}
// To the same place of several blocks of a cluster, each told by its own gate.
TK_FN void load_box_for(u32 blocks, SharedSpot<u16> to, const Map& map, int x, int y, int z, Gate g) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%3, %4, %5}], [%2], %6;" ::"r"(address_of(to)),
      "l"(&map), "r"(address_of(g)), "r"(x), "r"(y), "r"(z), "h"(static_cast<u16>(blocks))
      : "memory");
}
TK_FN void store_box(const Map& map, int x, int y, int z, SharedSpot<u32> from) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(address_of(from)), "r"(x), "r"(y), "r"(z)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// All but so many of this thread's boxes have been read; and all have been written.
template <int pending> TK_FN void stored_boxes_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
TK_FN void stored_boxes_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// What this thread wrote to shared memory is there for the copy engine.
TK_FN void boxes_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Tensor cores. A factor lies in shared memory in rows of 128 bytes, swizzled: along the contracted index, or in boxes
// of 64 lines by 64 of the contracted index.
using Factor = u64;
TK_FN Factor factor_at(SharedSpot<u16> p) {
  return static_cast<u64>((address_of(p) & 0x3ffffu) >> 4) | u64{8192 >> 4} << 16 | u64{1024 >> 4} << 32 | u64{1} << 62;
}
// So many halves further on.
TK_FN Factor factor_behind(Factor f, int halves) { return f + static_cast<u64>(halves / 8); }
TK_FN void multiply_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TK_FN void multiply_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending> TK_FN void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
// The swizzle of 128 bytes goes by addresses' bits.
TK_FN void check_ring(SharedSpot<u16> p) {
  if (address_of(p) % 1024 != 0) __trap();
}
// Four 8 by 8 matrices of halves: a thread gives two neighbouring elements of each, and the place of a row.
TK_FN void store_matrices(SharedSpot<u32> row, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address_of(row)), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}

}  // namespace tokitai::device
#endif

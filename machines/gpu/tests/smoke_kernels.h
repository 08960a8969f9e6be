// Small kernels in PTX, which the driver assembles itself: the driver is tested without any compiler. The fake driver
// of the tests knows them by name.
#pragma once
#include <string>

namespace tokitai::gpu {

// The one argument of each of them.
struct Smoke {
  const float* in = nullptr;
  float* out = nullptr;
  unsigned* counter = nullptr;
  long long n = 0;
  float factor = 1;
  int last = 0;
};
static_assert(sizeof(Smoke) == 40);

// smoke_scale: out[i] = in[i] * factor for i < n, over any grid.
// smoke_shared: reverses blockDim.x values through the floats of shared memory that end with number `last`.
// smoke_meet: every block waits for all others at `counter`, then writes the grid's size to out[block].
// smoke_fault: writes where no memory is.
inline const std::string kSmokeModule = R"(.version 7.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 memory[];
.visible .entry smoke_scale(.param .align 8 .b8 p[40])
{
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [p+8];
  ld.param.u64 %rd3, [p+24];
  ld.param.f32 %f1, [p+32];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %rd4, %r1, %r2;
  cvt.u64.u32 %rd5, %r3;
  add.s64 %rd4, %rd4, %rd5;
  mul.wide.u32 %rd6, %r4, %r2;
NEXT:
  setp.ge.s64 %p1, %rd4, %rd3;
  @%p1 bra DONE;
  shl.b64 %rd7, %rd4, 2;
  add.s64 %rd8, %rd1, %rd7;
  add.s64 %rd9, %rd2, %rd7;
  ld.global.f32 %f2, [%rd8];
  mul.rn.f32 %f3, %f2, %f1;
  st.global.f32 [%rd9], %f3;
  add.s64 %rd4, %rd4, %rd6;
  bra NEXT;
DONE:
  ret;
}
.visible .entry smoke_shared(.param .align 8 .b8 p[40])
{
  .reg .f32 %f<3>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<13>;
  ld.param.u32 %r1, [p+36];
  ld.param.u64 %rd1, [p+8];
  ld.param.u64 %rd2, [p];
  cvta.to.global.u64 %rd3, %rd2;
  cvta.to.global.u64 %rd4, %rd1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd5, %r2, 4;
  add.s64 %rd6, %rd3, %rd5;
  ld.global.f32 %f1, [%rd6];
  sub.s32 %r3, %r1, %r2;
  mul.wide.u32 %rd7, %r3, 4;
  mov.u64 %rd8, memory;
  add.s64 %rd9, %rd8, %rd7;
  st.shared.f32 [%rd9], %f1;
  bar.sync 0;
  mov.u32 %r4, %ntid.x;
  add.s32 %r5, %r2, 1;
  sub.s32 %r6, %r5, %r4;
  add.s32 %r7, %r6, %r1;
  mul.wide.u32 %rd10, %r7, 4;
  add.s64 %rd11, %rd8, %rd10;
  ld.shared.f32 %f2, [%rd11];
  add.s64 %rd12, %rd4, %rd5;
  st.global.f32 [%rd12], %f2;
  ret;
}
.visible .entry smoke_meet(.param .align 8 .b8 p[40])
{
  .reg .pred %p<3>;
  .reg .f32 %f<3>;
  .reg .b32 %r<7>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd5, [p+16];
  ld.param.u64 %rd4, [p+8];
  cvta.to.global.u64 %rd1, %rd5;
  mov.u32 %r3, %tid.x;
  setp.ne.s32 %p1, %r3, 0;
  @%p1 bra DONE;
  atom.global.add.u32 %r4, [%rd1], 1;
  mov.u32 %r1, %nctaid.x;
  cvta.to.global.u64 %rd2, %rd4;
WAIT:
  atom.global.add.u32 %r5, [%rd1], 0;
  setp.lt.u32 %p2, %r5, %r1;
  @%p2 bra WAIT;
  cvt.rn.f32.u32 %f2, %r1;
  mov.u32 %r6, %ctaid.x;
  mul.wide.u32 %rd7, %r6, 4;
  add.s64 %rd8, %rd2, %rd7;
  st.global.f32 [%rd8], %f2;
DONE:
  ret;
}
.visible .entry smoke_fault(.param .align 8 .b8 p[40])
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd2, [p+8];
  cvta.to.global.u64 %rd3, %rd2;
  add.s64 %rd6, %rd3, 4398046511104;
  mov.u32 %r1, 1065353216;
  st.global.u32 [%rd6], %r1;
  ret;
}
)";

// smoke_cluster: writes rank + 100 * size of its cluster to out[block].
inline const std::string kSmokeClusterModule = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry smoke_cluster(.param .align 8 .b8 p[40])
{
  .reg .pred %p<2>;
  .reg .f32 %f<3>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd2, [p+8];
  mov.u32 %r4, %cluster_ctarank;
  mov.u32 %r5, %cluster_nctarank;
  mov.u32 %r6, %tid.x;
  setp.ne.s32 %p1, %r6, 0;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd5, %rd2;
  mad.lo.s32 %r7, %r5, 100, %r4;
  cvt.rn.f32.u32 %f2, %r7;
  mov.u32 %r8, %ctaid.x;
  mul.wide.u32 %rd6, %r8, 4;
  add.s64 %rd7, %rd5, %rd6;
  st.global.f32 [%rd7], %f2;
DONE:
  ret;
}
)";

}  // namespace tokitai::gpu

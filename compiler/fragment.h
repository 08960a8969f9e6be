// How a GPU without warpgroups multiplies bytes into 32-bit integers: the instruction, which fixes what each thread of
// a wave holds (machines/device/fragment_shape.h). A kernel's text reads this too.
#pragma once
#include <cstdint>

namespace tokitai {

enum class Fragment : std::int8_t {
  none,
  mma,     // NVIDIA, from sm_80 on: mma.sync.m16n8k32
  mfma16,  // gfx90a: v_mfma_i32_16x16x16_i8
  mfma32,  // gfx942: v_mfma_i32_16x16x32_i8
  wmma11,  // gfx11: v_wmma_i32_16x16x16_iu8, both halves of a wave hold the same
  wmma12,  // gfx12: the same, each half holds half of the contracted index
  dot4,    // gfx1030: v_dot4_i32_i8, every thread for itself
};

}  // namespace tokitai

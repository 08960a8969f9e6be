// The norm of a list of gradients and the factor that clips it. See operators/gradient/README.md.
#pragma once
#include <span>

#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct GradientNorm {
  std::span<const ConstView> grads;  // each of any shape without gaps, f16, bf16 or f32; none needs to have elements
  float max_norm = 1;
  float grad_scale = 1;
  View norm;   // [1] f32
  View scale;  // [1] f32
};
Status gradient_norm(Device& device, const GradientNorm& arguments);
Call bind(const GradientNorm& arguments);

}  // namespace tokitai

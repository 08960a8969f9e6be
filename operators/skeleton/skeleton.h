// Each row over its root mean square: the family to copy. See operators/skeleton/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct SkeletonForward {
  ConstView x;  // [rows, cols]
  float eps = 1e-5f;
  View y;     // [rows, cols]
  View rstd;  // [rows] f32
};
Status skeleton_forward(Device& device, const SkeletonForward& arguments);
Call bind(const SkeletonForward& arguments);

}  // namespace tokitai

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

struct SkeletonWords {
  ConstView x;          // [rows, cols]
  ConstView bias = {};  // [rows, cols], optional
  float offset = 1;
  bool erf = false;         // instead of tanh
  bool skip_large = false;  // change nothing if an x is above 1000
  View y;                   // [rows, cols]; may be x
  View copy;                // [rows, cols], of any type
};
Status skeleton_words(Device& device, const SkeletonWords& arguments);
Call bind(const SkeletonWords& arguments);

}  // namespace tokitai

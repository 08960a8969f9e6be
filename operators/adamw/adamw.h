// One AdamW step over one tensor or a list of them. See operators/adamw/README.md.
#pragma once
#include <span>

#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct AdamwTensor {
  View theta;        // [n], updated in place
  View m;            // [n] f32, updated in place
  View v;            // [n] f32, updated in place
  ConstView grad;    // [n]
  View master = {};  // optional: [n] f32 weights; theta is then only written
};

struct AdamwStep {
  std::span<const AdamwTensor> tensors;
  float lr = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0.01f;
  std::int64_t t = 1;  // the step, from 1
  float grad_scale = 1;
  bool skip_nonfinite = false;  // change nothing if any gradient of the list is not finite
  bool* skipped = nullptr;      // told here, where asked for
};
Status adamw_step(Device& device, const AdamwStep& arguments);
Call bind(const AdamwStep& arguments);

}  // namespace tokitai

// Softmax over each row, and its gradient. See operators/softmax/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct SoftmaxForward {
  ConstView x;  // [rows, cols]
  View y;       // [rows, cols]
};
Status softmax_forward(Device& device, const SoftmaxForward& arguments);
Call bind(const SoftmaxForward& arguments);

struct SoftmaxBackward {
  ConstView dy;  // [rows, cols]
  ConstView y;   // [rows, cols], the forward's output
  View dx;       // [rows, cols]
};
Status softmax_backward(Device& device, const SoftmaxBackward& arguments);
Call bind(const SoftmaxBackward& arguments);

}  // namespace tokitai

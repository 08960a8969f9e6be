// GELU and its gradient. See operators/gelu/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct GeluForward {
  ConstView x;        // [rows, cols]
  bool tanh = false;  // tanh of a cubic instead of the error function
  View y;             // [rows, cols]; may be x
};
Status gelu_forward(Device& device, const GeluForward& arguments);
Call bind(const GeluForward& arguments);

struct GeluBackward {
  ConstView dy;       // [rows, cols]
  ConstView x;        // [rows, cols]
  bool tanh = false;  // as in the forward
  View dx;            // [rows, cols]; may be dy
};
Status gelu_backward(Device& device, const GeluBackward& arguments);
Call bind(const GeluBackward& arguments);

}  // namespace tokitai

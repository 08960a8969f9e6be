// SwiGLU and its gradient. See operators/swiglu/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct SwigluForward {
  ConstView gate;  // [rows, cols]; side by side with up in one tensor: two views with its row stride
  ConstView up;    // [rows, cols]
  View h;          // [rows, cols]; may be gate
};
Status swiglu_forward(Device& device, const SwigluForward& arguments);
Call bind(const SwigluForward& arguments);

struct SwigluBackward {
  ConstView dh;    // [rows, cols]
  ConstView gate;  // [rows, cols]
  ConstView up;    // [rows, cols]
  View dgate;      // [rows, cols]; may be gate
  View dup;        // [rows, cols]; may be up
};
Status swiglu_backward(Device& device, const SwigluBackward& arguments);
Call bind(const SwigluBackward& arguments);

}  // namespace tokitai

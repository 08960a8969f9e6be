// The sum of two tensors. See operators/add/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct AddForward {
  ConstView a;  // [rows, cols]
  ConstView b;  // [rows, cols]
  View y;       // [rows, cols]; may be a
};
Status add_forward(Device& device, const AddForward& arguments);
Call bind(const AddForward& arguments);

}  // namespace tokitai

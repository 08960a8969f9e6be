// A tensor in another type. See operators/cast/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct CastForward {
  ConstView x;  // [rows, cols]
  View y;       // [rows, cols], f16, bf16 or f32
};
Status cast_forward(Device& device, const CastForward& arguments);
Call bind(const CastForward& arguments);

}  // namespace tokitai

// LayerNorm over each row, and its gradient. See operators/layernorm/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct LayernormForward {
  ConstView x;      // [rows, cols]
  ConstView gamma;  // [cols]
  ConstView beta;   // [cols]
  float eps = 1e-5f;
  View y;                // [rows, cols]
  View mean;             // [rows] f32
  View rstd;             // [rows] f32
  ConstView residual{};  // [rows, cols], the storage type or f32; optional
  View sum{};            // [rows, cols], of the residual's type and given with it; may be x or the residual
};
Status layernorm_forward(Device& device, const LayernormForward& arguments);
Call bind(const LayernormForward& arguments);

struct LayernormBackward {
  ConstView dy;      // [rows, cols]
  ConstView x;       // [rows, cols], the storage type or f32; the forward's sum where it had a residual
  ConstView gamma;   // [cols]
  ConstView mean;    // [rows] f32, from the forward
  ConstView rstd;    // [rows] f32, from the forward
  View dx;           // [rows, cols], the storage type or f32
  View dgamma;       // [cols] f32, or the storage type
  View dbeta;        // [cols] f32, or the storage type
  ConstView dsum{};  // [rows, cols], the storage type or f32: what reaches the sum from elsewhere; optional
};
Status layernorm_backward(Device& device, const LayernormBackward& arguments);
Call bind(const LayernormBackward& arguments);

}  // namespace tokitai

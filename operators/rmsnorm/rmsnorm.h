// RMSNorm over each row, with or without a residual, and its gradient. See operators/rmsnorm/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct RmsnormForward {
  ConstView x;      // [rows, cols]
  ConstView gamma;  // [cols], the storage type or f32
  float eps = 1e-5f;
  View y;                // [rows, cols]
  View rstd;             // [rows] f32
  ConstView residual{};  // [rows, cols], the storage type or f32; optional
  View sum{};            // [rows, cols], of the residual's type and given with it; may be x or the residual
};
Status rmsnorm_forward(Device& device, const RmsnormForward& arguments);
Call bind(const RmsnormForward& arguments);

struct RmsnormBackward {
  ConstView dy;      // [rows, cols]
  ConstView x;       // [rows, cols], the storage type or f32; the forward's sum where it had a residual
  ConstView gamma;   // [cols], the storage type or f32
  ConstView rstd;    // [rows] f32, from the forward
  View dx;           // [rows, cols], the storage type or f32
  View dgamma;       // [cols] f32, or the storage type
  ConstView dsum{};  // [rows, cols], the storage type or f32: what reaches the sum from elsewhere; optional
};
Status rmsnorm_backward(Device& device, const RmsnormBackward& arguments);
Call bind(const RmsnormBackward& arguments);

}  // namespace tokitai

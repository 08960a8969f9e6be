// Matrix product and its gradients, in canonical order. See operators/gemm/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct GemmForward {
  ConstView a;  // [m, k]
  ConstView b;  // [k, n]
  View c;       // [m, n], the storage type or f32
};
Status gemm_forward(Device& device, const GemmForward& arguments);
Call bind(const GemmForward& arguments);

struct GemmGradA {
  ConstView dc;  // [m, n]
  ConstView b;   // [k, n]
  View da;       // [m, k], the storage type or f32
};
Status gemm_grad_a(Device& device, const GemmGradA& arguments);
Call bind(const GemmGradA& arguments);

struct GemmGradB {
  ConstView dc;  // [m, n]
  ConstView a;   // [m, k]
  View db;       // [k, n], the storage type or f32
};
Status gemm_grad_b(Device& device, const GemmGradB& arguments);
Call bind(const GemmGradB& arguments);

}  // namespace tokitai

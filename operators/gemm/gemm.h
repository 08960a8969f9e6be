// Matrix product and its gradients. See operators/gemm/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

// How one output is added up: one fma chain; exact integers in blocks of 128; as Hopper's tensor cores add.
enum class GemmArithmetic : std::int64_t { chain, block15, hopper };

struct GemmForward {
  ConstView a;          // [m, k]
  ConstView b;          // [k, n]
  View c;               // [m, n], the storage type or f32
  ConstView c0 = {};    // optional: [m, n] f32, what the sums start with; may be c
  ConstView bias = {};  // optional: [n], the storage type or f32
  GemmArithmetic arithmetic = GemmArithmetic::chain;
};
Status gemm_forward(Device& device, const GemmForward& arguments);
Call bind(const GemmForward& arguments);

struct GemmGradA {
  ConstView dc;        // [m, n]
  ConstView b;         // [k, n]
  View da;             // [m, k], the storage type or f32
  ConstView da0 = {};  // optional: [m, k] f32, what the sums start with; may be da
  GemmArithmetic arithmetic = GemmArithmetic::chain;
};
Status gemm_grad_a(Device& device, const GemmGradA& arguments);
Call bind(const GemmGradA& arguments);

struct GemmGradB {
  ConstView dc;        // [m, n]
  ConstView a;         // [m, k]
  View db;             // [k, n], the storage type or f32
  ConstView db0 = {};  // optional: [k, n] f32, what the sums start with; may be db
  GemmArithmetic arithmetic = GemmArithmetic::chain;
};
Status gemm_grad_b(Device& device, const GemmGradB& arguments);
Call bind(const GemmGradB& arguments);

}  // namespace tokitai

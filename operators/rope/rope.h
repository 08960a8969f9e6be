// Rotary position embeddings, their gradient, and the table they take. See operators/rope/README.md.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

// Fills a table in the host's memory: cos and sin [positions, D/2], f32, of p * base^(-2j/D).
struct RopeTable {
  float base = 10000;
  View cos, sin;
};
Status rope_table(const RopeTable& arguments);

struct RopeForward {
  ConstView x;               // [tokens, heads * D]
  ConstView cos, sin;        // [positions, D/2], f32
  ConstView position = {};   // [tokens], i32 or i64: the table's row of each token; without it tokens are counted
  std::int64_t seq = 0;      // counted tokens begin anew behind so many; 0: never
  bool interleaved = false;  // pairs (2d, 2d+1) instead of (d, d+D/2)
  View y;                    // [tokens, heads * D]; may be x
};
Status rope_forward(Device& device, const RopeForward& arguments);
Call bind(const RopeForward& arguments);

struct RopeBackward {
  ConstView dy;  // [tokens, heads * D]
  ConstView cos, sin;
  ConstView position = {};
  std::int64_t seq = 0;
  bool interleaved = false;
  View dx;  // [tokens, heads * D]; may be dy
};
Status rope_backward(Device& device, const RopeBackward& arguments);
Call bind(const RopeBackward& arguments);

}  // namespace tokitai

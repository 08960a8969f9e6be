// Cross-entropy loss and its gradient in one pass. See operators/cross_entropy/README.md.
#pragma once
#include <optional>

#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

// Of which loss grad is the gradient: the sum of all rows' losses, or their mean over the rows not ignored.
enum class Reduction : std::int64_t { sum, mean };

struct CrossEntropyForwardBackward {
  ConstView logits;  // [rows, cols]
  ConstView labels;  // [rows] i32 or i64
  std::optional<std::int64_t> ignore_index = {};
  float label_smoothing = 0;
  float z_loss = 0;
  float scale = 1;                          // of the gradient
  std::optional<Reduction> reduction = {};  // of the gradient: sum where it is not said; mean_loss asks for it to be
  View loss;                                // [rows] f32
  View grad;                                // [rows, cols]; may be the logits' own memory
  View mean_loss = {};                      // optional: [1] f32, over the rows that are not ignored
  View count = {};                          // optional: [1] i64, how many those are
};
Status cross_entropy_forward_backward(Device& device, const CrossEntropyForwardBackward& arguments);
Call bind(const CrossEntropyForwardBackward& arguments);

}  // namespace tokitai

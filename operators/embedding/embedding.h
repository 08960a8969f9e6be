// Embedding look-up and its gradient. See operators/embedding/README.md.
#pragma once
#include <optional>

#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

struct EmbeddingForward {
  ConstView weight;                                // [vocab, dim]
  ConstView index;                                 // [queries] i32 or i64
  std::optional<std::int64_t> padding_index = {};  // reads as zeros
  View y;                                          // [queries, dim]
};
Status embedding_forward(Device& device, const EmbeddingForward& arguments);
Call bind(const EmbeddingForward& arguments);

struct EmbeddingBackward {
  ConstView dy;                                    // [queries, dim]
  ConstView index;                                 // [queries] i32 or i64
  std::optional<std::int64_t> padding_index = {};  // receives no gradient
  bool accumulate = false;                         // add into dweight, which is then f32
  View dweight;                                    // [vocab, dim], the storage type or f32
};
Status embedding_backward(Device& device, const EmbeddingBackward& arguments);
Call bind(const EmbeddingBackward& arguments);

}  // namespace tokitai

// A call that every device refuses in its own words, by what lies in memory: a label out of range.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "tokitai/tokitai.h"

namespace tokitai::server {

// `outer` says what `inner` says, and writes nothing.
inline void expect_the_same_refusal(Device& inner, Device& outer) {
  std::vector<float> logits(12, 1), grad(12, 9), loss(3, 9);
  std::vector<std::int64_t> labels{0, 5, 1};
  const CrossEntropyForwardBackward refused{.logits = matrix(logits.data(), 3, 4),
                                            .labels = vector(labels.data(), 3),
                                            .loss = vector(loss.data(), 3),
                                            .grad = matrix(grad.data(), 3, 4)};
  const Status a = cross_entropy_forward_backward(inner, refused), b = cross_entropy_forward_backward(outer, refused);
  EXPECT_EQ(a.code(), Code::invalid);
  EXPECT_EQ(b.code(), a.code());
  EXPECT_EQ(b.message(), a.message());
  EXPECT_EQ(grad, std::vector<float>(12, 9));
}

}  // namespace tokitai::server

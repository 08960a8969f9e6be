// The reference against the textbook (operators/tests/mathematics.h).
#include "operators/tests/mathematics.h"

namespace tokitai {
namespace {

TEST(Mathematics, SoftmaxForward) {
  for_problems("softmax.forward rows=5 cols=1,7,300,4100 type=f16,bf16,f32", [](const Trial& run) {
    const View& x = run.in("x");
    for (std::int64_t r = 0; r < x.rows(); ++r) {
      const Exponentials e(x, r);
      for (std::int64_t c = 0; c < x.cols(); ++c) run.expect("y", r, c, e.at(c) / e.total);
    }
  });
}

TEST(Mathematics, SoftmaxBackward) {
  for_problems("softmax.backward rows=5 cols=1,7,300,4100 type=f16,bf16,f32", [](const Trial& run) {
    const View &dy = run.in("dy"), &y = run.in("y");
    for (std::int64_t r = 0; r < y.rows(); ++r) {
      const Bounded dot = row_sum(y.cols(), [&](std::int64_t c) { return Bounded(read(dy, r, c)) * read(y, r, c); });
      for (std::int64_t c = 0; c < y.cols(); ++c)
        run.expect("dx", r, c, Bounded(read(y, r, c)) * (Bounded(read(dy, r, c)) - dot));
    }
  });
}

}  // namespace
}  // namespace tokitai

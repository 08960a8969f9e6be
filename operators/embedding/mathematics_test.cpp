// The reference against the textbook (operators/tests/mathematics.h).
#include <cmath>

#include "operators/tests/mathematics.h"

namespace tokitai {
namespace {

TEST(Mathematics, EmbeddingForward) {
  for_problems("embedding.forward queries=50 dim=9 vocab=20 padding_index=none,3 type=f16,bf16,f32",
               [](const Trial& run) {
                 const bool padded = run.call.option(0).set;
                 for (std::int64_t i = 0; i < 50; ++i)
                   for (std::int64_t c = 0; c < 9; ++c) {
                     const std::int64_t v = read_integer(run.in("index"), i);
                     ASSERT_EQ(read(run.out("y"), i, c), padded && v == 3 ? 0 : read(run.in("weight"), v, c));
                   }
               });
}

TEST(Mathematics, EmbeddingBackward) {
  for_problems(
      "embedding.backward queries=300 dim=9 vocab=20 padding_index=none,3 single=yes accumulate=0,1 type=f16,bf16,f32",
      [](const Trial& run) {
        const View &dy = run.in("dy"), &index = run.in("index");
        const bool padded = run.call.option(1).set, add = run.call.option_set("accumulate");
        for (std::int64_t v = 0; v < 20; ++v)
          for (std::int64_t c = 0; c < 9; ++c) {
            Bounded total = column_sum(300, [&](std::int64_t i) {
              const std::int64_t at = read_integer(index, i);
              return at != v || (padded && at == 3) ? Bounded(0) : Bounded(read(dy, i, c));
            });
            if (dy.type == Type::f16) total.e = kUnit * std::fabs(total.v);  // exact until it becomes an f32
            run.expect("dweight", v, c, add ? Bounded(read(run.in("dweight"), v, c)) + total : total);
          }
      });
}

}  // namespace
}  // namespace tokitai

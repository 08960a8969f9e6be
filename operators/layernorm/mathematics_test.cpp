// The reference against the textbook (operators/tests/mathematics.h).
#include "operators/tests/mathematics.h"

namespace tokitai {
namespace {

TEST(Mathematics, LayernormForward) {
  for_problems("layernorm.forward rows=5 cols=1,7,300,4100 eps=0.1 type=f16,bf16,f32", [](const Trial& run) {
    const View &x = run.in("x"), &gamma = run.in("gamma"), &beta = run.in("beta");
    const std::int64_t n = x.cols();
    for (std::int64_t r = 0; r < x.rows(); ++r) {
      const Bounded mean = row_sum(n, [&](std::int64_t c) { return read(x, r, c); }) / static_cast<double>(n);
      const auto centred = [&](std::int64_t c) { return Bounded(read(x, r, c)) - mean; };
      const Bounded variance =
          row_sum(n, [&](std::int64_t c) { return centred(c) * centred(c); }) / static_cast<double>(n);
      const Bounded rstd = Bounded(1) / sqrt(variance + run.option("eps"));
      run.expect("mean", r, 0, mean);
      run.expect("rstd", r, 0, rstd);
      for (std::int64_t c = 0; c < n; ++c) run.expect("y", r, c, centred(c) * rstd * read(gamma, c) + read(beta, c));
    }
  });
}

TEST(Mathematics, LayernormBackward) {
  for_problems(
      "layernorm.backward rows=3,70 cols=7,300 single=no,dgamma+dbeta type=f16,bf16,f32", [](const Trial& run) {
        const View &dy = run.in("dy"), &x = run.in("x"), &gamma = run.in("gamma");
        const std::int64_t rows = x.rows(), n = x.cols();
        const auto xhat = [&](std::int64_t r, std::int64_t c) {
          return (Bounded(read(x, r, c)) - read(run.in("mean"), r)) * read(run.in("rstd"), r);
        };
        const auto h = [&](std::int64_t r, std::int64_t c) { return Bounded(read(dy, r, c)) * read(gamma, c); };
        for (std::int64_t r = 0; r < rows; ++r) {
          const Bounded c1 = row_sum(n, [&](std::int64_t c) { return h(r, c); }) / static_cast<double>(n);
          const Bounded c2 = row_sum(n, [&](std::int64_t c) { return h(r, c) * xhat(r, c); }) / static_cast<double>(n);
          for (std::int64_t c = 0; c < n; ++c)
            run.expect("dx", r, c, Bounded(read(run.in("rstd"), r)) * (h(r, c) - c1 - xhat(r, c) * c2));
        }
        for (std::int64_t c = 0; c < n; ++c) {
          run.expect("dgamma", c, 0,
                     column_sum(rows, [&](std::int64_t r) { return Bounded(read(dy, r, c)) * xhat(r, c); }));
          run.expect("dbeta", c, 0, column_sum(rows, [&](std::int64_t r) { return Bounded(read(dy, r, c)); }));
        }
      });
}

}  // namespace
}  // namespace tokitai

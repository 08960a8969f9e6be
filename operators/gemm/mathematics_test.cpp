// The reference against the textbook (operators/tests/mathematics.h).
#include "operators/tests/mathematics.h"

namespace tokitai {
namespace {

void check_product(const Trial& run, std::string_view out, std::int64_t inner,
                   const std::function<Bounded(std::int64_t, std::int64_t, std::int64_t)>& term) {
  for (std::int64_t i = 0; i < run.out(out).rows(); ++i)
    for (std::int64_t j = 0; j < run.out(out).cols(); ++j)
      run.expect(out, i, j, sum(inner, inner, [&](std::int64_t k) { return term(i, j, k); }));
}

TEST(Mathematics, GemmAndItsGradients) {
  const std::string sizes = " m=7 n=19 k=33 single=no,yes type=f16,bf16,f32";
  for_problems("gemm.forward" + sizes, [](const Trial& run) {
    const View &a = run.in("a"), &b = run.in("b");
    check_product(run, "c", 33, [&](auto i, auto j, auto k) { return Bounded(read(a, i, k)) * read(b, k, j); });
  });
  for_problems("gemm.grad_a" + sizes, [](const Trial& run) {
    const View &dc = run.in("dc"), &b = run.in("b");
    check_product(run, "da", 19, [&](auto i, auto k, auto j) { return Bounded(read(dc, i, j)) * read(b, k, j); });
  });
  for_problems("gemm.grad_b" + sizes, [](const Trial& run) {
    const View &dc = run.in("dc"), &a = run.in("a");
    check_product(run, "db", 7, [&](auto k, auto j, auto i) { return Bounded(read(a, i, k)) * read(dc, i, j); });
  });
}

}  // namespace
}  // namespace tokitai

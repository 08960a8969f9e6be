// The reference against the textbook (operators/tests/mathematics.h).
#include "operators/tests/mathematics.h"

namespace tokitai {
namespace {

TEST(Mathematics, CrossEntropyForwardBackward) {
  for_problems(
      "cross_entropy.forward_backward rows=40 cols=7,300 ignore_index=none,-100 label_smoothing=0,0.2 z_loss=0,0.05 "
      "scale=0.5 "
      "reduction=sum,mean master=yes type=f16,bf16,f32",
      [](const Trial& run) {
        const View &x = run.in("logits"), &labels = run.in("labels");
        const auto n = static_cast<double>(x.cols());
        const double a = run.option("label_smoothing"), z = run.option("z_loss"), scale = run.option("scale");
        double live = 0;
        for (std::int64_t r = 0; r < x.rows(); ++r) live += read_integer(labels, r) != -100 ? 1 : 0;
        const Bounded factor = run.call.option_set("reduction") ? Bounded(scale) / live : Bounded(scale);
        std::vector<Bounded> losses;
        for (std::int64_t r = 0; r < x.rows(); ++r) {
          const std::int64_t label = read_integer(labels, r);
          if (label == -100) {
            run.expect("loss", r, 0, 0);
            for (std::int64_t c = 0; c < x.cols(); ++c) ASSERT_EQ(read(run.out("grad"), r, c), 0);
            continue;
          }
          const Exponentials e(x, r);
          const Bounded lse = e.log_total + e.top;
          const Bounded nll = e.log_total + (Bounded(e.top) - read(x, r, label));
          const Bounded uniform =
              e.log_total - row_sum(x.cols(), [&](std::int64_t c) { return Bounded(read(x, r, c)) - e.top; }) / n;
          losses.push_back(rounded(1 - a, 0) * nll + Bounded(a) * uniform + Bounded(z) * lse * lse);
          run.expect("loss", r, 0, losses.back());
          for (std::int64_t c = 0; c < x.cols(); ++c) {
            const Bounded target = rounded(a / n, 0) + (c == label ? rounded(1 - a, 0) : Bounded(0));
            run.expect("grad", r, c, factor * (e.at(c) / e.total * (Bounded(1) + Bounded(2 * z) * lse) - target));
          }
        }
        ASSERT_EQ(read(run.out("count"), 0), live);
        run.expect("mean_loss", 0, 0, column_sum(static_cast<std::int64_t>(losses.size()), [&](std::int64_t i) {
                                        return losses[static_cast<std::size_t>(i)];
                                      }) / live);
      });
}

}  // namespace
}  // namespace tokitai

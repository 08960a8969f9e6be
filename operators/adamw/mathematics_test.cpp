// The reference against the textbook (operators/tests/mathematics.h).
#include <cmath>

#include "operators/tests/mathematics.h"

namespace tokitai {
namespace {

TEST(Mathematics, AdamwStep) {
  for_problems(
      "adamw.step n=200+3 t=1,7 lr=0.01 eps=0.01 weight_decay=0.1 grad_scale=0.5 master=no,yes type=f16,bf16,f32",
      [](const Trial& run) {
        const double lr = run.option("lr"), beta1 = run.option("beta1"), beta2 = run.option("beta2");
        const auto t = static_cast<double>(run.call.option(run.call.contract->option_index("t")).i);
        const auto scalar = [](double v) { return rounded(v, 0); };
        for (std::size_t set = 0; set < 2; ++set)
          for (std::int64_t i = 0; i < run.in("theta", set).rows(); ++i) {
            const bool master = run.in("master", set).present();
            const Bounded g = Bounded(read(run.in("grad", set), i)) * run.option("grad_scale");
            const Bounded theta = read(run.in(master ? "master" : "theta", set), i);
            const Bounded m = Bounded(beta1) * read(run.in("m", set), i) + scalar(1 - beta1) * g;
            const Bounded v = Bounded(beta2) * read(run.in("v", set), i) + scalar(1 - beta2) * (g * g);
            const Bounded m_hat = m * scalar(1 / (1 - std::pow(beta1, t))),
                          v_hat = v * scalar(1 / (1 - std::pow(beta2, t)));
            const Bounded next = theta - Bounded(lr) * (m_hat / (sqrt(v_hat) + run.option("eps")) +
                                                        Bounded(run.option("weight_decay")) * theta);
            run.expect("m", i, 0, m, set);
            run.expect("v", i, 0, v, set);
            run.expect("theta", i, 0, next, set);
            if (master) run.expect("master", i, 0, next, set);
          }
      });
}

}  // namespace
}  // namespace tokitai

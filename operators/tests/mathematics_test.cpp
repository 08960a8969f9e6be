// The reference against the textbook: each operator's formula in double precision, with a bound on what binary32
// may lose on the way. It knows the mathematics and not the order of operations, so it and the frozen bits can
// only be wrong together if both were made from the same mistake.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "numerics/half.h"
#include "testing/instance.h"
#include "tokitai/device.h"

namespace tokitai {
namespace {

// A value and a bound on the error of computing it in binary32: each operation passes on the errors of its
// operands and adds its own rounding. Orders of operations other than ours are allowed for by a factor of 2.
constexpr double kUnit = 0x1p-24;
struct Bounded {
  double v = 0, e = 0;
  Bounded(double value) : v(value) {}  // NOLINT(google-explicit-constructor)
  Bounded(double value, double error) : v(value), e(error) {}
};
Bounded rounded(double v, double e) { return {v, e + kUnit * (std::fabs(v) + e) + 0x1p-150}; }
Bounded operator+(Bounded a, Bounded b) { return rounded(a.v + b.v, a.e + b.e); }
Bounded operator-(Bounded a, Bounded b) { return rounded(a.v - b.v, a.e + b.e); }
Bounded operator*(Bounded a, Bounded b) {
  return rounded(a.v * b.v, std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e);
}
Bounded operator/(Bounded a, Bounded b) {
  return rounded(a.v / b.v, (a.e + std::fabs(a.v / b.v) * b.e) / (std::fabs(b.v) - b.e));
}
Bounded sqrt(Bounded a) { return rounded(std::sqrt(a.v), a.e / std::sqrt(a.v)); }
// Ours are within one unit in the last place: two roundings' worth.
Bounded exp(Bounded a) { return rounded(std::exp(a.v), std::exp(a.v) * (std::expm1(a.e) + kUnit)); }
Bounded log(Bounded a) { return rounded(std::log(a.v), a.e / (a.v - a.e) + kUnit * std::fabs(std::log(a.v))); }

// A sum in which no term passes through more than `depth` additions.
template <class F> Bounded sum(std::int64_t n, std::int64_t depth, F term) {
  double v = 0, e = 0, size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Bounded t = term(i);
    v += t.v;
    e += t.e;
    size += std::fabs(t.v) + t.e;
  }
  return {v, e + static_cast<double>(depth) * kUnit * size};
}
template <class F> Bounded row_sum(std::int64_t n, F term) { return sum(n, 8 + 8 + n / 2048, term); }
template <class F> Bounded column_sum(std::int64_t n, F term) { return sum(n, 32 * 4, term); }  // up to 2^20 rows

double read(const View& view, std::int64_t r, std::int64_t c = 0) {
  const std::int64_t at = view.rank == 2 ? r * view.row_stride + c : r;
  switch (view.type) {
    case Type::f16: return widen_f16(static_cast<const std::uint16_t*>(view.data)[at]);
    case Type::bf16: return widen_bf16(static_cast<const std::uint16_t*>(view.data)[at]);
    case Type::f32: return static_cast<const float*>(view.data)[at];
    case Type::i32: return static_cast<const std::int32_t*>(view.data)[at];
    case Type::i64: return static_cast<double>(static_cast<const std::int64_t*>(view.data)[at]);
  }
  return 0;
}
std::int64_t read_integer(const View& view, std::int64_t r) { return static_cast<std::int64_t>(read(view, r)); }

// Half a unit in the last place of the storage type, at the most.
double half_unit(Type type, double v) {
  if (type == Type::f16) return std::max(0x1p-11 * std::fabs(v), 0x1p-25);
  return std::max((type == Type::bf16 ? 0x1p-8 : 0x1p-24) * std::fabs(v), 0x1p-134);
}

// One problem: the operands as they were before the run, and as they are after it.
struct Trial {
  testing::Instance before, after;
  Call call;  // checked: options and dimensions are filled in

  const View& in(std::string_view name, std::size_t set = 0) const { return before.sets()[set][index(name)]; }
  const View& out(std::string_view name, std::size_t set = 0) const { return after.sets()[set][index(name)]; }
  double option(std::string_view name) const { return call.option(call.contract->option_index(name)).f; }
  std::size_t index(std::string_view name) const {
    return static_cast<std::size_t>(call.contract->operand_index(name));
  }

  void expect(std::string_view name, std::int64_t r, std::int64_t c, Bounded value, std::size_t set = 0) const {
    const View& view = out(name, set);
    const double found = read(view, r, c),
                 allowed = 2 * value.e + half_unit(view.type, std::fabs(value.v) + 2 * value.e);
    ASSERT_LE(std::fabs(found - value.v), allowed)
        << name << "[" << r << ", " << c << "] is " << found << ", mathematics says " << value.v;
  }
};

void for_problems(std::string_view line, const std::function<void(const Trial&)>& check) {
  Device reference = open("reference").value();
  for (const testing::Problem& problem : testing::parse_problems(line).value()) {
    SCOPED_TRACE(problem.text());
    Trial run{testing::Instance::make(problem).value(), testing::Instance::make(problem).value(), {}};
    run.after.reset(std::byte{0xa5});
    run.call = run.after.call();
    ASSERT_TRUE(reference.run(run.call).ok());
    check(run);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

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

// A row's exponentials against its largest element, their sum, and log of it.
struct Exponentials {
  double top = -INFINITY;
  Bounded total = 0, log_total = 0;
  std::function<Bounded(std::int64_t)> at;
  Exponentials(const View& x, std::int64_t r) {
    for (std::int64_t c = 0; c < x.cols(); ++c) top = std::max(top, read(x, r, c));
    at = [&x, r, t = top](std::int64_t c) { return exp(Bounded(read(x, r, c)) - t); };
    total = row_sum(x.cols(), at);
    log_total = log(total);
  }
};

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

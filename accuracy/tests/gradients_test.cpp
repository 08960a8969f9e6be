// Gradients: every backward operator passes; a sign flip, a missing term and a wrong axis planted in each are caught,
// once in the formula and once in what a device stores.
#include "accuracy/gradients.h"

#include <gtest/gtest.h>

#include <set>

#include "machines/analysis/instantiate.h"
#include "operators/cross_entropy/definition.h"
#include "operators/embedding/definition.h"
#include "operators/gemm/definition.h"
#include "operators/layernorm/definition.h"
#include "operators/softmax/definition.h"

namespace tokitai::evidence {
namespace {

using analysis::Bound;
using analysis::Kernels;
using analysis::Sets;
using problems::Problem;

// A device that computes what a kernel says, right or wrong.
std::function<Status(Call&)> storing(const Kernels& kernels) {
  return [kernels](Call& call) {
    const Sets<Bound> made = analysis::run(kernels.bound, call);
    for (std::size_t o = 0; o < made[0].size(); ++o)
      for (std::size_t e = 0; e < made[0][o].size(); ++e) {
        const View& view = call.operands[o];
        const auto i = static_cast<std::int64_t>(e);
        reference::write(view, i / view.cols(), i % view.cols(), made[0][o][e].value);
      }
    return Status();
  };
}

enum class Fault { none, sign, missing, axis };

// The row operators with a fault written into the definition.
template <Fault F> struct WrongLayernorm {
  using Pattern = patterns::Row;
  using Names = layernorm::Backward::Names;
  template <class M> static void row(M& m) {
    auto dy = m.load(m.dy);
    auto x = m.read(m.x);
    auto gamma = m.columns(m.gamma);
    auto n = m.cols();
    auto mean = m.number(m.mean);
    auto rstd = m.number(m.rstd);
    auto xhat = m.make(m.dx);
    auto [sum_h, sum_h_xhat] =
        m.reduce(Sum{[&](auto i) { return dy[i] * gamma[i]; }},
                 SumFma{[&](auto i) { return product(dy[i] * gamma[i], xhat.keep(i, (x[i] - mean) * rstd)); }});
    auto c1 = sum_h / n;
    auto c2 = sum_h_xhat / n;
    auto along_row = m.sum([&](auto i) { return dy[i]; });
    m.store(m.dx, [&](auto i) {
      auto h = dy[i] * gamma[i];
      if constexpr (F == Fault::sign) return rstd * fma(xhat[i], c2, h - c1);
      if constexpr (F == Fault::missing) return rstd * fma(-xhat[i], c2, h);
      return rstd * fma(-xhat[i], c2, h - c1);
    });
    m.column_sums(m.dgamma, SumFma{[&](auto i) { return product(dy[i], xhat[i]); }},  //
                  m.dbeta, Sum{[&](auto i) {
                    if constexpr (F == Fault::axis) return along_row;
                    return dy[i];
                  }});
  }
};

template <Fault F> struct WrongSoftmax {
  using Pattern = patterns::Row;
  using Names = softmax::Backward::Names;
  template <class M> static void row(M& m) {
    auto dy = m.read(m.dy);
    auto y = m.read(m.y);
    auto dot = m.sum_fma([&](auto i) { return product(dy[i], y[i]); });
    m.store(m.dx, [&](auto i) {
      if constexpr (F == Fault::sign) return y[i] * (dy[i] + dot);
      if constexpr (F == Fault::missing) return y[i] * dy[i];
      if constexpr (F == Fault::axis) return y[i] * (dy[i] - dy[i] * y[i]);  // summed over nothing but the column
      return y[i] * (dy[i] - dot);
    });
  }
};

template <Fault F> struct WrongCrossEntropy {
  using Pattern = patterns::Row;
  using Names = cross_entropy::ForwardBackward::Names;
  template <class M> static void row(M& m) {
    auto x = m.read(m.logits);
    auto n = m.cols();
    auto label = F == Fault::axis ? m.row % m.width() : m.integer(m.labels);  // the row's number for its label
    auto top = m.max([&](auto i) { return x[i]; });
    auto e = m.make(m.grad);
    auto s = m.sum([&](auto i) { return e.keep(i, exp_nonpositive(x[i] - top)); });
    auto q = 1.0f / s;
    auto lse = log(s) + top;
    auto w = fma(m.value(m.z2), lse, 1.0f);
    auto t = m.value(m.a) / n;
    auto gradient = [&](auto i, auto target) {
      if constexpr (F == Fault::sign) return m.value(m.scale) * fma(e[i] * q, w, target);
      if constexpr (F == Fault::missing) return m.value(m.scale) * (e[i] * q - target);  // the z-loss
      return m.value(m.scale) * fma(e[i] * q, w, -target);
    };
    m.store_but(
        m.grad, label, [&](auto i) { return gradient(i, t + m.value(m.b)); }, [&](auto i) { return gradient(i, t); });
  }
};

// The others have their sums in the pattern: a fault is put around it.
template <class D, Fault F> struct Around {
  template <class N> static void run(const Call& call, const Sets<N>& given, Sets<N>& made) {
    Call seen = call;
    if (F == Fault::missing) {  // the last term of each sum
      const bool by_rows = call.contract->name != "gemm.grad_a";
      for (int o = 0; o < 2; ++o) --seen.operands[o].shape[by_rows ? 0 : 1];
    }
    analysis::kernel<N, D>(typename D::Pattern{})(seen, given, made);
    auto& out = made[0][2];
    const auto n = static_cast<std::size_t>(call.operand(2).cols());
    if (F == Fault::sign)
      for (N& x : out) x = -x;
    if (F == Fault::axis)
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t c = r + 1; c < n; ++c) std::swap(out[r * n + c], out[c * n + r]);
  }
  static constexpr Kernels kernels() {
    return {&run<analysis::Interval>, &run<Bound>, &run<analysis::Terms>, &run<analysis::Dual>};
  }
};

struct Planted {
  const char* line;
  Kernels none, sign, missing, axis;
};
template <template <Fault> class Wrong> Planted planted(const char* line) {
  using analysis::kernels_of;
  return {line, kernels_of<Wrong<Fault::none>>(), kernels_of<Wrong<Fault::sign>>(), kernels_of<Wrong<Fault::missing>>(),
          kernels_of<Wrong<Fault::axis>>()};
}
template <class D> Planted planted(const char* line) {
  return {line, Around<D, Fault::none>::kernels(), Around<D, Fault::sign>::kernels(),
          Around<D, Fault::missing>::kernels(), Around<D, Fault::axis>::kernels()};
}
const Planted kPlanted[] = {
    planted<WrongLayernorm>("layernorm.backward rows=5 cols=40 type=f16 single=dgamma+dbeta"),
    planted<WrongSoftmax>("softmax.backward rows=5 cols=40 type=f16"),
    planted<WrongCrossEntropy>(
        "cross_entropy.forward_backward rows=5 cols=40 type=f16 label_smoothing=0.125 z_loss=0.5"),
    planted<embedding::Backward>("embedding.backward queries=30 dim=6 vocab=6 type=f16"),
    planted<gemm::GradA>("gemm.grad_a m=6 n=9 k=6 type=f16"),
    planted<gemm::GradB>("gemm.grad_b m=9 n=6 k=6 type=f16"),
};

GradientResult checked(const Planted& planted, const std::function<Status(Call&)>& device, const Kernels& kernels) {
  static Device forward = open("cpu").value();
  const Problem problem = problems::parse_problems(planted.line)->front();
  const auto result = gradient_of(problem, 3, forward, {device, kernels});
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.value();
}

TEST(Gradients, EveryBackwardOperatorIsTheTransposeOfItsForwardsDerivative) {
  Device device = open("cpu").value();
  const auto problems = problems::for_use(problems::Use::gradients).value();
  std::set<std::string> names;
  for (const GradientResult& one : gradients(problems, 2, device).value()) {
    EXPECT_EQ(one.failed, 0) << one.first_failure;
    EXPECT_EQ(one.directions, 2 * one.problems);
    EXPECT_LE(one.tightest, 1.0);
    EXPECT_LT(one.widest, 1e-60);
    EXPECT_GT(one.worst_bound, 0);
    names.insert(one.name);
  }
  for (const char* name : {"layernorm.backward", "rmsnorm.backward", "softmax.backward",
                           "cross_entropy.forward_backward", "embedding.backward", "gemm.grad_a", "gemm.grad_b"})
    EXPECT_EQ(names.count(name), 1u) << name;
}

TEST(Gradients, TheDefinitionsTheFaultsArePlantedInAreRightWithoutThem) {
  for (const Planted& p : kPlanted) {
    const GradientResult result = checked(p, storing(p.none), p.none);
    EXPECT_EQ(result.failed, 0) << result.first_failure;
  }
}
TEST(Gradients, ASignAMissingTermAndAWrongAxisInTheFormulaAreCaught) {
  for (const Planted& p : kPlanted)
    for (const Kernels& wrong : {p.sign, p.missing, p.axis}) {
      const GradientResult result = checked(p, storing(wrong), wrong);
      EXPECT_EQ(result.failed, 3) << p.line;
      EXPECT_NE(result.first_failure.find("the backward formula gives"), std::string::npos) << result.first_failure;
    }
}
TEST(Gradients, ASignAMissingTermAndAWrongAxisOfADeviceAreCaught) {
  for (const Planted& p : kPlanted)
    for (const Kernels& wrong : {p.sign, p.missing, p.axis}) {
      const GradientResult result = checked(p, storing(wrong), p.none);
      EXPECT_EQ(result.failed, 3) << p.line;
      EXPECT_NE(result.first_failure.find("the device's gradient gives"), std::string::npos) << result.first_failure;
    }
}

TEST(Gradients, TheGradientOfTheSumIsNotThatOfTheMean) {
  const Planted sum = planted<WrongCrossEntropy>(
      "cross_entropy.forward_backward rows=5 cols=40 type=f16 label_smoothing=0.125 z_loss=0.5 reduction=mean "
      "master=yes");
  EXPECT_EQ(checked(sum, storing(sum.none), sum.none).failed, 3);
}

TEST(Gradients, AForwardOperatorIsRefused) {
  Device device = open("cpu").value();
  for (const char* line : {"softmax.forward rows=2 cols=3", "adamw.step n=3 t=1"}) {
    const auto result = gradients(problems::parse_problems(line).value(), 1, device);
    ASSERT_FALSE(result.ok()) << line;
    EXPECT_EQ(result.status().code(), Code::invalid) << result.status().message();
  }
}

}  // namespace
}  // namespace tokitai::evidence

// Accuracy: the bound machine computes the reference's bits, its bounds hold on every built-in problem, and a bound
// that leaves something out is caught.
#include "accuracy/accuracy.h"

#include <gtest/gtest.h>

#include <set>

#include "machines/analysis/instantiate.h"
#include "machines/analysis/ulp.h"
#include "operators/layernorm/definition.h"
#include "operators/softmax/definition.h"
#include "problems/instance.h"
#include "runtime/machine.h"

namespace tokitai::evidence {
namespace {

using analysis::Bound;
using analysis::Interval;
using problems::Instance;
using problems::Problem;

std::vector<Problem> built_in() { return problems::for_use(problems::Use::accuracy).value(); }
std::vector<Problem> parsed(std::string_view line) { return problems::parse_problems(line).value(); }
constexpr std::string_view kMixedLists = "adamw.step n=0+300+17+5 t=3 type=f16,f32 master=no+yes,yes+no shift=0+1";
Device cpu() { return open("cpu").value(); }
const std::vector<OperatorAccuracy>& measured() {
  static const std::vector<OperatorAccuracy> all = [] {
    Device device = cpu();
    return accuracy(built_in(), device).value();
  }();
  return all;
}

TEST(Accuracy, BoundMachineComputesTheReferencesBits) {
  Device reference = open("reference").value();
  std::int64_t compared = 0;
  std::vector<Problem> problems = built_in();
  for (const Problem& problem : parsed(kMixedLists)) problems.push_back(problem);
  for (const Problem& problem : problems) {
    Instance instance = Instance::make(problem).value();
    Call call = instance.call();
    ASSERT_TRUE(check(call).ok());
    const auto bound = analysis::run(analysis::kernels(*problem.contract)->bound, call);
    Outcome outcome;
    ASSERT_TRUE(reference.run(call, &outcome).ok());
    for (std::size_t t = 0; t < bound.size(); ++t)
      for (std::size_t o = 0; o < bound[t].size(); ++o) {
        const View& stored = instance.sets()[t][o];
        for (std::size_t e = 0; e < bound[t][o].size(); ++e, ++compared) {
          const auto i = static_cast<std::int64_t>(e);
          const double found = reference::read(stored, i / stored.cols(), i % stored.cols());
          const double value = stored_value(bound[t][o][e].value, stored.type);
          const bool same = found == value || (std::isnan(found) && std::isnan(value));
          ASSERT_TRUE(same) << problem.text() << " operand " << o << " element " << e << ": " << found << " " << value;
        }
      }
  }
  EXPECT_GT(compared, 1000000);
}

TEST(Accuracy, EveryTensorOfAListIsMeasuredWithTheOperandsItHas) {
  Device device = cpu();
  const auto measured = accuracy(parsed(kMixedLists), device).value();
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_EQ(measured[0].exceeded, 0) << measured[0].first_exceeded;
  std::int64_t masters = 0;
  for (const OutputAccuracy& output : measured[0].by_output)
    if (output.operand == "master") masters += output.outputs;
  EXPECT_EQ(masters, 2 * (300 + 17 + 5));  // in each type every tensor once has them and once has not
}

TEST(Accuracy, NoDerivedBoundIsExceededAndErrorsAreWellKnown) {
  std::set<std::string> names;  // without the arithmetic
  for (const OperatorAccuracy& one : measured()) names.insert(one.name.substr(0, one.name.find(' ')));
  EXPECT_EQ(names.size(), contracts().size());
  for (const OperatorAccuracy& one : measured()) {
    EXPECT_EQ(one.exceeded, 0) << one.first_exceeded;
    EXPECT_LE(one.tightest, 1.0);
    EXPECT_LT(one.widest_enclosure, 1e-9) << one.name;
    std::int64_t counted = 0;
    for (std::int64_t bin : one.histogram) counted += bin;
    EXPECT_EQ(counted, one.outputs);
    EXPECT_GT(one.outputs, 1000) << one.name;
  }
}
// e^-(10^38) is beside its row's sum of 1 what a bound keeps and 320 bits do not.
TEST(Accuracy, EnclosuresAreMadeNarrowEnoughForTheirBounds) {
  Device device = cpu();
  for (const char* line : {"cross_entropy.forward_backward rows=1 cols=2,3,7 type=bf16,f32 data=huge",
                           "adamw.step n=3 t=1 eps=0 weight_decay=0 lr=0 grad_scale=1e-30 type=f16 data=huge"}) {
    const auto one = accuracy(parsed(line), device).value();
    EXPECT_EQ(one[0].exceeded, 0) << one[0].first_exceeded;
    EXPECT_GT(one[0].outputs, 0) << line;
  }
}
TEST(Accuracy, MoreBitsAreOfThisThreadAndForAWhile) {
  const Interval third = Interval(1.0f) / 3.0f;
  {
    const Interval::MoreBits more;
    const Interval narrow = Interval(1.0f) / 3.0f;
    EXPECT_GT(narrow.width(), 0.0);
    EXPECT_LT(narrow.width(), third.width() * 0x1p-700);
    EXPECT_TRUE(narrow.meets(third));
  }
  EXPECT_EQ((Interval(1.0f) / 3.0f).width(), third.width());
}
// A row of equal numbers but one, which is a unit larger: the mean is off by more than they differ.
TEST(Accuracy, ABoundIsLargeWhereTermsCancelAndInfiniteWhereADivisorDoes) {
  Instance instance = Instance::make(parsed("layernorm.forward rows=1 cols=300 type=f32 eps=0").front()).value();
  Call call = instance.call();
  for (std::int64_t c = 0; c < 300; ++c) reference::write(call.operand(0), 0, c, 0.1f);
  reference::write(call.operand(0), 0, 7, from_bits(bits(0.1f) + 1));
  ASSERT_TRUE(check(call).ok());
  const CallAccuracy known(call, analysis::kernels(*call.contract).value());
  Device device = cpu();
  ASSERT_TRUE(device.run(call).ok());
  const AccuracyFigures figures = together(known.of(call, "a row"));
  EXPECT_EQ(figures.not_real, 0);
  EXPECT_GE(figures.overflowed, 300);  // y and rstd have no bound
  const auto cancelled = accuracy(parsed("layernorm.forward rows=3 cols=300 type=f32 data=cancelling"), device).value();
  EXPECT_GT(cancelled.front().worst_bound_ulp, 1000);
}
TEST(Accuracy, HalfPrecisionIsWithin051WhereNotCancelled) {
  // The sum with a residual is rounded before it is normalised. Products but chains have errors of their own.
  std::vector<Problem> problems = built_in();
  std::erase_if(problems, [](const Problem& problem) {
    const int residual = problem.contract->operand_index("residual");
    const bool chain = std::none_of(problem.options.begin(), problem.options.end(), [](const auto& option) {
      return option.first == "arithmetic" && option.second != "chain";
    });
    return problem.size("cols") > 300 || !chain ||
           (residual >= 0 && problem.gives(problem.contract->operands[static_cast<std::size_t>(residual)], 0));
  });
  Device device = cpu();
  for (const OperatorAccuracy& one : accuracy(problems, device).value())
    for (const OutputAccuracy& output : one.by_output)
      if (output.type == Type::f16) {
        EXPECT_LE(output.worst_kept_ulp, 0.51) << one.name << " " << output.operand;
        EXPECT_LT(output.cancelled, output.outputs) << one.name << " " << output.operand;
      }
}
TEST(Accuracy, OnlySpecialDataAndZeroDivisorsHaveNoRealAnswer) {
  Device device = cpu();
  for (const Problem& problem : built_in()) {
    if (problem.family == problems::Family::special) continue;
    if (problem.contract->name == "adamw.step" && problem.family == problems::Family::zero) continue;  // eps = 0: 0/0
    // e^x of such x is beyond what enclosures hold.
    if (problem.contract->family() == "swiglu" && problem.family == problems::Family::huge) continue;
    if (problem.size("cols") > 300) continue;
    EXPECT_EQ(accuracy({problem}, device)->front().not_real, 0) << problem.text();
  }
}
TEST(Accuracy, FiguresDoNotDependOnTheOrderOfWork) {
  Device device = cpu();
  const auto problems = parsed("softmax.forward rows=5 cols=300 type=f16 data=all");
  const auto first = accuracy(problems, device).value(), second = accuracy(problems, device).value();
  EXPECT_EQ(first[0].worst_ulp_at, second[0].worst_ulp_at);
  EXPECT_EQ(first[0].ratios, second[0].ratios);
}
TEST(Accuracy, ACalledOffStepCountsForNothing) {
  Device device = cpu();
  const auto one = accuracy(parsed("adamw.step n=300 t=1 data=special skip_nonfinite=1"), device).value();
  EXPECT_EQ(one[0].outputs + one[0].not_real, 0);
}

// Exact integers and intervals are two ways to the same product: the same numbers stored as f32 take the other.
TEST(Accuracy, ExactIntegersAreTheIntervalsOfTheSameProducts) {
  const Problem half = parsed("gemm.forward m=5 n=3 k=40 type=f16 data=constant single=yes").front();
  const Problem single = parsed("gemm.forward m=5 n=3 k=40 type=f32 data=constant single=yes").front();
  Instance a = Instance::make(half).value(), b = Instance::make(single).value();
  for (int o = 0; o < 2; ++o) {
    const View from = a.call().operand(o), to = b.call().operand(o);
    for (std::int64_t r = 0; r < from.rows(); ++r)
      for (std::int64_t c = 0; c < from.cols(); ++c) {
        const float x = widen_f16(static_cast<std::uint16_t>((r * 977 + c * 31) % 0x7c00 + 0x8000 * (c % 2)));
        reference::write(from, r, c, x);
        reference::write(to, r, c, x);
      }
  }
  const auto kernel = analysis::kernels(*half.contract)->exact;
  Call first = a.call(), second = b.call();
  ASSERT_TRUE(check(first).ok() && check(second).ok());
  const auto integers = analysis::run(kernel, first), intervals = analysis::run(kernel, second);
  for (std::size_t e = 0; e < integers[0][2].size(); ++e) {
    const Interval difference = integers[0][2][e] - intervals[0][2][e];
    EXPECT_EQ(difference.largest(), 0.0);
  }
}

// A bound that forgets one operation's error; the other number types do not notice.
template <class T> T forget(T x) { return x; }
Bound forget(Bound x) { return {x.value, 0.0}; }

struct ForgetsExp {
  using Pattern = patterns::Row;
  using Names = softmax::Forward::Names;
  template <class M> static void row(M& m) {
    auto x = m.read(m.x);
    auto top = m.max([&](auto i) { return x[i]; });
    auto e = m.make(m.y);
    auto total = m.sum([&](auto i) { return e.keep(i, forget(exp_nonpositive(x[i] - top))); });
    auto q = 1.0f / total;
    m.store(m.y, [&](auto i) { return e[i] * q; });
  }
};
struct ForgetsMean {
  using Pattern = patterns::Row;
  using Names = layernorm::Forward::Names;
  template <class M> static void row(M& m) {
    auto x = m.read(m.x);
    auto mean = forget(m.sum([&](auto i) { return x[i]; }) / m.cols());
    m.put(m.mean, mean);
  }
};
struct ForgetsAProduct {
  using Pattern = patterns::Row;
  using Names = softmax::Backward::Names;
  template <class M> static void row(M& m) {
    auto dy = m.read(m.dy);
    auto y = m.read(m.y);
    auto dot = m.sum_fma([&](auto i) { return product(dy[i], y[i]); });
    m.store(m.dx, [&](auto i) { return forget(y[i] * (dy[i] - dot)); });
  }
};
template <class D> void expect_caught(std::string_view line) {
  Device device = cpu();
  const Problem problem = parsed(line).front();
  const auto honest = accuracy_of(problem, device, analysis::kernels(*problem.contract).value()).value();
  EXPECT_EQ(honest.exceeded, 0);
  const auto careless = accuracy_of(problem, device, analysis::kernels_of<D>()).value();
  EXPECT_GT(careless.exceeded, 0);
  EXPECT_NE(careless.first_exceeded.find("the derived bound is"), std::string::npos) << careless.first_exceeded;
}
TEST(Accuracy, ABoundThatLeavesAnErrorOutIsCaught) {
  expect_caught<ForgetsExp>("softmax.forward rows=3 cols=300 type=f32");
  expect_caught<ForgetsMean>("layernorm.forward rows=3 cols=300 type=f32");
  expect_caught<ForgetsAProduct>("softmax.backward rows=3 cols=300 type=f32");
}

// A device that is off by one unit in one output.
class OneUnitOff : public Machine {
 public:
  Status run(const Call& call, Outcome& outcome) override {
    Call mine = call;
    Status status = reference_.run(mine, &outcome);
    ++static_cast<std::uint16_t*>(call.operand(1).data)[5];
    return status;
  }
  std::string description() const override { return "wrong on purpose"; }

 private:
  Device reference_ = open("reference").value();
};
TEST(Accuracy, ADeviceThatIsOneUnitOffExceedsItsBound) {
  Device wrong("wrong", std::make_shared<OneUnitOff>());
  const auto all = accuracy(parsed("softmax.forward rows=3 cols=100 type=f16"), wrong).value();
  EXPECT_EQ(all[0].exceeded, 1);
  EXPECT_TRUE(all[0].first_exceeded.starts_with("y[0, 5] of softmax.forward")) << all[0].first_exceeded;
}

TEST(Ulp, IsTheSpacingAtTheExactResult) {
  EXPECT_EQ(distance(1.0, Interval(1.0f), Type::f16).unit, 0x1p-10);
  EXPECT_EQ(distance(1.0, Interval(0x1.fffffep-1f), Type::f16).unit, 0x1p-11);  // the exact result's binade, below 1
  EXPECT_EQ(distance(0.0, Interval(0x1p-30f), Type::f16).unit, 0x1p-24);        // the subnormal spacing is the least
  EXPECT_EQ(distance(0.0, Interval(0.0f), Type::f32).unit, 0x1p-149);
  EXPECT_EQ(distance(1.0, Interval(1.0f), Type::bf16).unit, 0x1p-7);
  EXPECT_EQ(distance(1.0 + 0x1p-10, Interval(1.0f), Type::f16).ulp, 1.0);
  EXPECT_EQ(distance(HUGE_VAL, Interval(1.0f), Type::f16).ulp, HUGE_VAL);
}

}  // namespace
}  // namespace tokitai::evidence

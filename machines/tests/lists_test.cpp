// Lists of tensors: no tensor speaks for another. Each may have its own length, none included, its own alignment, and
// optional operands that others lack; on every machine, and in every order.
#include <gtest/gtest.h>

#include <algorithm>

#include "evidence/verify.h"
#include "machines/device/plan.h"
#include "machines/gpu/memo.h"
#include "problems/instance.h"
#include "runtime/machine.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

constexpr std::string_view kLines[] = {
    "adamw.step n=300+5+1 t=3 type=f16 master=no+yes,yes+no shift=0+1+3 skip_nonfinite=0,1",
    "adamw.step n=0+300+17 t=3 type=f16 data=special master=no+yes,yes+no skip_nonfinite=1",
};
std::vector<problems::Problem> mixed() {
  std::vector<problems::Problem> all;
  for (std::string_view line : kLines)
    for (const problems::Problem& problem : problems::parse_problems(line).value()) all.push_back(problem);
  return all;
}

// GPU text and the reference.
TEST(Lists, ThatMixOptionalOperandsHaveTheReferencesBitsInLockstep) {
  auto device = open("lockstep");
  ASSERT_TRUE(device.ok()) << device.status().message();
  const auto result = evidence::verify(mixed(), {{"lockstep", device.value()}}, {});
  for (const auto& problem : result.problems) {
    if (problem.failure.find("no C++ compiler") != std::string::npos) GTEST_SKIP() << problem.failure;
    EXPECT_EQ(problem.failure, "");
  }
  EXPECT_GT(result.summary.compared, 1000);
}

TEST(Lists, ThatMixOptionalOperandsHaveTheReferencesBitsOnTheCpu) {
  const auto result = evidence::verify(mixed(), evidence::cpu_variants(cpu_isas(), {1, 3}).value(), {});
  for (const auto& problem : result.problems) EXPECT_EQ(problem.failure, "");
  EXPECT_GT(result.summary.compared, 1000);
}

TEST(Lists, AreFilledWhereATensorIsEmpty) {
  for (const auto filling : {problems::Filling::whole, problems::Filling::repeated})
    EXPECT_TRUE(problems::Instance::make(mixed().back(), filling).ok());
}

device::Program planned(const Call& call, int variant) {
  constexpr compiler::Target kTarget{"lockstep", compiler::Vendor::host, 32, 227 * 1024, true};
  auto program = device::plan(call, {kTarget, 4, variant});
  EXPECT_TRUE(program.ok()) << program.status().message();
  return std::move(program).value();
}
std::vector<std::string> kernels_of(const Call& call, int variant) {
  std::vector<std::string> sources;
  for (const device::Launch& launch : planned(call, variant).launches) sources.push_back(launch.source);
  return sources;
}

TEST(Lists, HaveAPlanThatIsTheSameInEveryOrder) {
  for (const problems::Problem& problem : mixed())
    for (int variant = 0; variant < device::kVariants; ++variant) {
      const Call call = problems::call_without_memory(problem).value();
      const auto expected = kernels_of(call, variant);
      Call turned = call;
      for (std::size_t turn = 1; turn < call.list.size(); ++turn) {
        std::rotate(turned.list.begin(), turned.list.begin() + 1, turned.list.end());
        EXPECT_EQ(kernels_of(turned, variant), expected) << problem.text() << " turned by " << turn;
      }
    }
}

// The kernel of lists that agree asks nothing of their tensors, and a tensor without elements changes no kernel.
TEST(Lists, PayForMixingOnlyWhereTheyMix) {
  const auto kernels = [](const char* line) {
    return kernels_of(problems::call_without_memory(problems::parse_problems(line).value().front()).value(), 0);
  };
  const auto none = kernels("adamw.step n=300 t=3"), all = kernels("adamw.step n=300 t=3 master=yes");
  EXPECT_NE(none, all);
  EXPECT_EQ(kernels("adamw.step n=300+5 t=3"), none);
  EXPECT_EQ(kernels("adamw.step n=0+300 t=3 master=yes+no"), none);
  EXPECT_EQ(kernels("adamw.step n=300+5 t=3 master=yes"), all);
  EXPECT_EQ(kernels("adamw.step n=0+300 t=3 master=no+yes"), all);
  const auto some = kernels("adamw.step n=300+5 t=3 master=no+yes");
  EXPECT_NE(some, none);
  EXPECT_NE(some, all);
}

// A view that is no operand may still carry an address, as those that come over a wire do: no kernel may see it.
TEST(Lists, TellKernelsOfNoMemoryBehindAnAbsentOperand) {
  const auto problem = problems::parse_problems("adamw.step n=300+5 t=3 master=no+yes").value().front();
  Call call = problems::call_without_memory(problem).value();
  const std::size_t master = static_cast<std::size_t>(call.contract->operand_index("master"));
  ASSERT_FALSE(call.list[0][master].present());
  call.list[0][master].data = call.list[0][0].data;
  const device::Program program = planned(call, 0);
  EXPECT_EQ(program.tensors.address(0, master), 0U);
  EXPECT_NE(program.tensors.address(1, master), 0U);
  gpu::Prepared prepared;
  prepared.arguments = program.arguments;
  prepared.tensors = program.tensors;
  EXPECT_TRUE(prepared.bindable(call));
  prepared.bind(call);
  EXPECT_EQ(prepared.tensors.address(0, master), 0U);
  EXPECT_NE(prepared.tensors.address(1, master), 0U);
}

// What a machine is asked for: only where the caller wants to know whether a step was taken must it answer now.
class Asked : public Machine {
 public:
  Status run(const Call&, Outcome& outcome) override {
    ++answered;
    outcome.skipped = true;
    return {};
  }
  Status queue(const Call&) override {
    ++queued;
    return {};
  }
  std::string description() const override { return "asked"; }
  int answered = 0, queued = 0;
};

TEST(Lists, AreQueuedUnlessTheOutcomeIsAskedFor) {
  auto machine = std::make_shared<Asked>();
  Device device("asked", machine);
  float theta = 1, m = 0, v = 0, grad = 1;
  const AdamwTensor tensor{vector(&theta, 1), vector(&m, 1), vector(&v, 1), vector(&grad, 1)};
  AdamwStep step{.tensors = {&tensor, 1}, .t = 1, .skip_nonfinite = true};
  ASSERT_TRUE(adamw_step(device, step).ok());
  EXPECT_EQ(machine->queued, 1);
  EXPECT_EQ(machine->answered, 0);
  bool skipped = false;
  step.skipped = &skipped;
  ASSERT_TRUE(adamw_step(device, step).ok());
  EXPECT_EQ(machine->answered, 1);
  EXPECT_TRUE(skipped);
}

}  // namespace
}  // namespace tokitai

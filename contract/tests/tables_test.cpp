// The contracts as tables: complete, in agreement with the definitions, and honest about memory and cost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "contract/build.h"
#include "contract/contract.h"
#include "contract/formula.h"
#include "contract/parse.h"
#include "contract/registry.h"
#include "contract/workspace.h"
#include "operators/adamw/definition.h"
#include "operators/cross_entropy/definition.h"
#include "operators/embedding/definition.h"
#include "operators/gemm/definition.h"
#include "operators/gradient/definition.h"
#include "operators/layernorm/definition.h"
#include "operators/rmsnorm/definition.h"
#include "operators/softmax/definition.h"
#include "problems/instance.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

TEST(Contracts, AreOfTheirFoldersAndInTheirOrder) {
  std::vector<std::string> origins;
  for (const Operator* one : operators()) {
    EXPECT_EQ(one->folder->origin, fmt::format("operators/{}", one->contract->family()));
    origins.push_back(one->folder->origin);
  }
  EXPECT_FALSE(origins.empty());
  EXPECT_TRUE(std::is_sorted(origins.begin(), origins.end()));
  EXPECT_EQ(find_contract("layernorm"), nullptr);
}

TEST(Contracts, HaveCompleteTexts) {
  for (const Contract* c : contracts()) {
    SCOPED_TRACE(c->name);
    for (std::string_view text : {c->name, c->summary, c->formula, c->determinism}) EXPECT_FALSE(text.empty());
    EXPECT_FALSE(c->ensures.empty() || c->edges.empty() || c->non_claims.empty());
    for (const OperandSpec& operand : c->operands)
      EXPECT_TRUE(!operand.name.empty() && !operand.text.empty()) << operand.name;
    for (const OptionSpec& option : c->options)
      EXPECT_TRUE(!option.name.empty() && !option.text.empty() && !range_of(option).empty()) << option.name;
    EXPECT_NE(workspace_formula(*c), "");
  }
}

TEST(Contracts, NameEachOperandOptionAndSymbolOnce) {
  for (const Contract* c : contracts()) {
    SCOPED_TRACE(c->name);
    std::set<std::string_view> names, options, symbols;
    bool takes_indices = false;
    for (const OperandSpec& operand : c->operands) {
      EXPECT_TRUE(names.insert(operand.name).second) << operand.name;
      EXPECT_FALSE(operand.shape[0].empty()) << operand.name;
      for (std::string_view symbol : operand.shape)
        if (!symbol.empty() && symbol != "1") symbols.insert(size_named(symbol).symbol);
      takes_indices |= operand.type == TypeRule::index;
      EXPECT_EQ(operand.type == TypeRule::index, operand.below.empty() != operand.ascend_to.empty())
          << operand.name << " says what its indices stay below, or what its offsets ascend to";
      EXPECT_TRUE(operand.left_out.empty() || c->option_index(operand.left_out) >= 0) << operand.left_out;
    }
    for (const OptionSpec& option : c->options) {
      EXPECT_TRUE(options.insert(option.name).second) << option.name;
      EXPECT_EQ(option.kind == OptionKind::choice, option.choices.size() > 1) << option.name;
      EXPECT_EQ(std::set(option.choices.begin(), option.choices.end()).size(), option.choices.size()) << option.name;
    }
    EXPECT_LE(c->operands.size(), std::size_t{kMaxOperands});
    EXPECT_LE(c->options.size(), std::size_t{kMaxOptions});
    EXPECT_LE(symbols.size(), std::size_t{kMaxSymbols});
    EXPECT_TRUE(c->batch.empty() || symbols.contains(c->batch)) << c->batch;
    EXPECT_TRUE(c->whole_when.empty() || options.contains(c->whole_when)) << c->whole_when;
    for (const Limit& limit : c->limits) EXPECT_TRUE(symbols.contains(limit.symbol)) << limit.symbol;
    for (const OperandSpec& operand : c->operands) {
      const auto named =
          std::count_if(names.begin(), names.end(), [&](const auto& name) { return operand.may_lie_over(name); });
      EXPECT_EQ(named,
                operand.may_alias.empty() ? 0 : 1 + std::count(operand.may_alias.begin(), operand.may_alias.end(), ' '))
          << operand.may_alias;
      EXPECT_TRUE(operand.with.empty() || names.contains(operand.with)) << operand.with;
      EXPECT_TRUE(operand.saved_as.empty() || names.contains(operand.saved_as)) << operand.saved_as;
      EXPECT_TRUE(operand.read_when.empty() || options.contains(operand.read_when)) << operand.read_when;
    }
    EXPECT_EQ(takes_indices, c->refusal != nullptr);
  }
}

TEST(Contracts, HaveFallbacksTheyThemselvesAllow) {
  for (const Contract* c : contracts())
    for (const OptionSpec& option : c->options) {
      SCOPED_TRACE(std::string(c->name) + " " + std::string(option.name));
      EXPECT_TRUE(!option.fallback.set || option.allowed == nullptr || option.allowed(option.fallback));
      EXPECT_FALSE(option.required && option.fallback.set);
    }
}

// A definition's names carry positions and types; the contract's tables must say the same.
template <int I> bool agrees(Storage<I>, TypeRule rule) {
  return rule == TypeRule::storage || rule == TypeRule::floating;
}
template <int I> bool agrees(Once<I>, TypeRule rule) { return rule == TypeRule::f32 || rule == TypeRule::i64; }
template <int I> bool agrees(Single<I>, TypeRule rule) { return rule == TypeRule::f32; }
template <int I> bool agrees(Floating<I>, TypeRule rule) { return rule == TypeRule::floating; }
template <int I> bool agrees(StorageOrSingle<I>, TypeRule rule) { return rule == TypeRule::storage_or_f32; }
template <int I> bool agrees(Integer<I>, TypeRule rule) { return rule == TypeRule::index || rule == TypeRule::i64; }

template <class Name> void expect_operand(const Contract& contract, Name name, std::string_view text) {
  SCOPED_TRACE(contract.name);
  ASSERT_EQ(Name::index, contract.operand_index(text)) << text;
  EXPECT_TRUE(agrees(name, contract.operands[static_cast<std::size_t>(Name::index)].type)) << text;
}
#define EXPECT_OPERAND(definition, operand) \
  expect_operand(*find_contract(definition::name), definition::Names::operand, #operand)
#define EXPECT_OPTION(definition, option) \
  EXPECT_EQ(definition::Names::option.index, find_contract(definition::name)->option_index(#option))

TEST(Definitions, NameAdamwsOperandsAsTheContractDoes) {
  using adamw::Step;
  EXPECT_OPERAND(Step, theta);
  EXPECT_OPERAND(Step, m);
  EXPECT_OPERAND(Step, v);
  EXPECT_OPERAND(Step, grad);
  EXPECT_OPERAND(Step, master);
  EXPECT_OPERAND(Step, scale);
  EXPECT_OPERAND(Step, norm);
  EXPECT_OPERAND(Step, outcome);
  EXPECT_OPTION(Step, skip_nonfinite);
}
TEST(Definitions, NameGradientsOperandsAsTheContractDoes) {
  using gradient::Norm;
  EXPECT_OPERAND(Norm, grad);
  EXPECT_OPERAND(Norm, norm);
  EXPECT_OPERAND(Norm, scale);
}
TEST(Definitions, NameLayernormsOperandsAsTheContractDoes) {
  using layernorm::Backward, layernorm::Forward;
  EXPECT_OPERAND(Forward, x);
  EXPECT_OPERAND(Forward, gamma);
  EXPECT_OPERAND(Forward, beta);
  EXPECT_OPERAND(Forward, y);
  EXPECT_OPERAND(Forward, mean);
  EXPECT_OPERAND(Forward, rstd);
  EXPECT_OPERAND(Forward, residual);
  EXPECT_OPERAND(Forward, sum);
  EXPECT_OPERAND(Backward, dy);
  EXPECT_OPERAND(Backward, x);
  EXPECT_OPERAND(Backward, gamma);
  EXPECT_OPERAND(Backward, mean);
  EXPECT_OPERAND(Backward, rstd);
  EXPECT_OPERAND(Backward, dx);
  EXPECT_OPERAND(Backward, dgamma);
  EXPECT_OPERAND(Backward, dbeta);
  EXPECT_OPERAND(Backward, dsum);
}
TEST(Definitions, NameRmsnormsOperandsAsTheContractDoes) {
  using rmsnorm::Backward, rmsnorm::Forward;
  EXPECT_OPERAND(Forward, x);
  EXPECT_OPERAND(Forward, gamma);
  EXPECT_OPERAND(Forward, y);
  EXPECT_OPERAND(Forward, rstd);
  EXPECT_OPERAND(Forward, residual);
  EXPECT_OPERAND(Forward, sum);
  EXPECT_OPERAND(Backward, dy);
  EXPECT_OPERAND(Backward, x);
  EXPECT_OPERAND(Backward, gamma);
  EXPECT_OPERAND(Backward, rstd);
  EXPECT_OPERAND(Backward, dx);
  EXPECT_OPERAND(Backward, dgamma);
  EXPECT_OPERAND(Backward, dsum);
}
TEST(Definitions, NameSoftmaxsOperandsAsTheContractDoes) {
  using softmax::Backward, softmax::Forward;
  EXPECT_OPERAND(Forward, x);
  EXPECT_OPERAND(Forward, y);
  EXPECT_OPERAND(Backward, dy);
  EXPECT_OPERAND(Backward, y);
  EXPECT_OPERAND(Backward, dx);
}
TEST(Definitions, NameCrossEntropysOperandsAsTheContractDoes) {
  using cross_entropy::ForwardBackward;
  EXPECT_OPERAND(ForwardBackward, logits);
  EXPECT_OPERAND(ForwardBackward, labels);
  EXPECT_OPERAND(ForwardBackward, loss);
  EXPECT_OPERAND(ForwardBackward, grad);
  EXPECT_OPERAND(ForwardBackward, mean_loss);
  EXPECT_OPERAND(ForwardBackward, count);
  EXPECT_OPTION(ForwardBackward, ignore_index);
}
TEST(Definitions, NameEmbeddingsOperandsAsTheContractDoes) {
  using embedding::Backward, embedding::Forward;
  EXPECT_OPERAND(Forward, weight);
  EXPECT_OPERAND(Forward, index);
  EXPECT_OPERAND(Forward, y);
  EXPECT_OPERAND(Backward, dy);
  EXPECT_OPERAND(Backward, index);
  EXPECT_OPERAND(Backward, dweight);
  EXPECT_OPTION(Backward, accumulate);
}
TEST(Definitions, NameGemmsOperandsAsTheContractDoes) {
  using gemm::Forward, gemm::GradA, gemm::GradB;
  EXPECT_OPERAND(Forward, a);
  EXPECT_OPERAND(Forward, b);
  EXPECT_OPERAND(Forward, c);
  EXPECT_OPERAND(GradA, dc);
  EXPECT_OPERAND(GradA, b);
  EXPECT_OPERAND(GradA, da);
  EXPECT_OPERAND(GradB, dc);
  EXPECT_OPERAND(GradB, a);
  EXPECT_OPERAND(GradB, db);
}

// A checked call over memory of its own.
struct Checked {
  problems::Instance instance;
  Call call;
};
Checked checked(const problems::Problem& problem) {
  Checked c{problems::Instance::make(problem).value(), {}};
  c.call = c.instance.call();
  const Status status = check(c.call);
  EXPECT_TRUE(status.ok()) << status.message();
  return c;
}

// A plan has one type for an operand of all tensors, or is told each tensor's: no other rule may let them differ.
TEST(Lists, OperandsHaveOneTypeInAllTensorsOrEachItsOwn) {
  for (const Contract* contract : contracts())
    for (const OperandSpec& spec : contract->operands)
      if (contract->list) {
        EXPECT_TRUE(spec.type == TypeRule::storage || spec.type == TypeRule::floating || spec.type == TypeRule::f32 ||
                    spec.type == TypeRule::i64)
            << contract->name << " " << spec.name;
        EXPECT_TRUE(spec.shape[1].empty()) << contract->name << " " << spec.name << ": one symbol for any shape";
      }
}

// A tensor's part of a table is what stands in front.
TEST(Lists, WhatACallHasOnceStandsBehindTheTensorsOperands) {
  for (const Contract* contract : contracts())
    for (std::size_t i = 0; i < contract->operands.size() && contract->list; ++i)
      EXPECT_EQ(contract->has_once(contract->operands[i]), i >= contract->tensor_operands()) << contract->name;
}

// A formula's symbols are those of the set at hand; a list of tensors leaves no symbol behind that is only the last's.
TEST(Lists, FormulasSeeEachTensorsOwnSize) {
  const Checked c = checked(problems::parse_problems("adamw.step n=10+0+5 t=1").value()[0]);
  EXPECT_EQ(evaluate("n * n", c.call, 1).value(), 125);
  EXPECT_EQ(dimension(c.call, "n"), 0);
}

// Rows of the table are counted as they are asked for: once each, however often.
TEST(Cost, OfAGatherIsTheRowsThatItReads) {
  std::int64_t index[] = {3, 8, 3, 3, 0};
  Checked c = checked(problems::parse_problems("embedding.forward queries=5 dim=7 vocab=9 index=i64").value()[0]);
  c.call.operands[1].data = index;
  EXPECT_EQ(cost_of(c.call, Values::read).bytes_read, 5 * 8 + 3 * 7 * 2);
  EXPECT_EQ(cost_of(c.call, Values::read).bytes_written, 5 * 7 * 2);
  c.call.operands[1].data = nullptr;  // planned, not placed: as many rows as there may be
  EXPECT_EQ(cost_of(c.call).bytes_read, 5 * 8 + 5 * 7 * 2);
}

TEST(Cost, CountsEachInputReadOnceAndEachOutputWrittenOnce) {
  const std::tuple<const char*, std::int64_t, std::int64_t, std::int64_t> expected[] = {
      // problem, bytes read, bytes written, operations
      {"adamw.step n=10 t=1", 10 * (2 + 4 + 4 + 2), 10 * (2 + 4 + 4), 170},
      {"adamw.step n=10+0+5 t=1 master=yes", 15 * (4 + 4 + 2 + 4), 15 * (2 + 4 + 4 + 4), 255},
      {"adamw.step n=10+0+5 t=1 master=no+yes+yes", 10 * 12 + 5 * 14, 10 * 10 + 5 * 14, 255},
      {"adamw.step n=10+5 t=1 scale=yes norm=yes outcome=yes", 15 * 12 + 4, 15 * 10 + 8, 15 * 18},
      {"gradient.norm n=10+0+5 type=f16+f32+bf16", 20 + 10, 8, 30},
      {"layernorm.forward rows=3 cols=5", 30 + 10 + 10, 30 + 12 + 12, 120},
      {"layernorm.backward rows=3 cols=5 single=dgamma+dbeta", 30 + 30 + 10 + 12 + 12, 30 + 20 + 20, 225},
      {"layernorm.forward rows=3 cols=5 master=yes single=residual", 30 + 10 + 10 + 60, 30 + 12 + 12 + 60, 135},
      {"rmsnorm.forward rows=3 cols=5", 30 + 10, 30 + 12, 60},
      {"rmsnorm.forward rows=3 cols=5 master=yes", 30 + 10 + 30, 30 + 12 + 30, 75},
      {"rmsnorm.backward rows=3 cols=5 single=dgamma master=yes", 30 + 30 + 10 + 12 + 30, 30 + 20, 165},
      {"softmax.forward rows=3 cols=5 type=f32", 60, 60, 375},
      {"softmax.backward rows=3 cols=5", 60, 30, 60},
      {"cross_entropy.forward_backward rows=3 cols=5 index=i32", 30 + 12, 12 + 30, 435},
      {"embedding.forward queries=4 dim=5 vocab=9 index=i64 spread=equal", 10 + 32, 40, 0},
      {"embedding.forward queries=500 dim=5 vocab=2 index=i32 type=f32", 2 * 20 + 2000, 10000, 0},
      {"embedding.backward queries=4 dim=5 vocab=9 index=i64", 40 + 32, 90, 20},
      {"embedding.backward queries=4 dim=5 vocab=9 index=i64 single=yes accumulate=1", 40 + 32 + 180, 180, 20},
      {"gemm.forward m=2 n=3 k=5", 20 + 30, 12, 60},
      {"gemm.grad_a m=2 n=3 k=5", 12 + 30, 20, 60},
      {"gemm.grad_b m=2 n=3 k=5", 12 + 20, 30, 60},
  };
  for (const auto& [line, read, written, flops] : expected) {
    SCOPED_TRACE(line);
    const Checked c = checked(problems::parse_problems(line).value()[0]);
    const Cost cost = cost_of(c.call, Values::read);
    EXPECT_EQ(cost.bytes_read, read);
    EXPECT_EQ(cost.bytes_written, written);
    EXPECT_EQ(cost.flops, flops);
  }
}

// Beyond the formula: each buffer, one per thread and a shared one, is rounded up to whole cache lines.
constexpr std::int64_t kCacheLine = 64;

TEST(Workspace, BoundsTheScratchOfACall) {
  const char* lines[] = {
      "adamw.step n=1,70000 t=1",
      "gradient.norm n=0,1,70000,2048*40+0*3+5 type=f16",
      "layernorm.forward rows=1,33,5000 cols=1,17,2049",
      "layernorm.backward rows=1,33,1025,21001 cols=1,17,129 single=no,yes",
      "layernorm.forward rows=33 cols=17,2049 master=yes single=no,yes",
      "rmsnorm.forward rows=1,33,5000 cols=1,17,2049 master=no,yes single=no,yes",
      "rmsnorm.backward rows=1,33,1025,21001 cols=1,17,129 master=no,yes single=no,yes",
      "softmax.forward rows=1,500 cols=1,2049,20001 type=f16,f32",
      "softmax.backward rows=1,500 cols=1,2049",
      "cross_entropy.forward_backward rows=1,33,5000 cols=1,301 reduction=sum master=no,yes",
      "embedding.forward queries=300 dim=33 vocab=50",
      "embedding.backward queries=1,5000 dim=1,33 vocab=1,700 type=f16,bf16 spread=uniform,equal",
      "gemm.forward m=1,97,200 n=1,33,1030 k=1,257 arithmetic=chain,block15,hopper master=no,yes",
      "gemm.grad_a m=97 n=257 k=1030",
      "gemm.grad_b m=257 n=33,1030 k=97",
  };
  for (const char* line : lines)
    for (const problems::Problem& problem : problems::parse_problems(line).value())
      for (int threads : {1, 3}) {
        SCOPED_TRACE(problem.text() + (threads == 1 ? ", 1 thread" : ", 3 threads"));
        Checked c = checked(problem);
        Device device = open("cpu", {.threads = threads}).value();
        const std::int64_t promised = device.workspace(c.call).value();
        EXPECT_GE(promised, 0);
        EXPECT_GE(workspace_bytes(c.call, threads + 1), promised);
        const auto formula = evaluate(workspace_formula(*c.call.contract), c.call, threads);
        ASSERT_TRUE(formula.ok()) << formula.status().message();
        EXPECT_GE(formula.value(), promised);
        ASSERT_TRUE(device.run(c.call).ok());
        EXPECT_LE(device.scratch_bytes(), promised + (threads + 1) * kCacheLine);
      }
}

// What the check lets pass can be multiplied and added up: the formula is evaluated in 128 bits, the function is not.
TEST(Workspace, OfTheLargestCallsDoesNotOverflow) {
  auto* nowhere = reinterpret_cast<float*>(std::uintptr_t{1} << 44);
  const std::int64_t most = (kMostBytes - 64) / 8;  // two operands of so many f32, and small ones
  auto* second = nowhere + most;
  auto* third = second + most;
  const Call calls[] = {
      bind(GemmForward{.a = matrix(nowhere, 1, most), .b = matrix(second, most, 1), .c = matrix(third, 1, 1)}),
      bind(GemmGradA{.dc = matrix(nowhere, 1, most), .b = matrix(second, 1, most), .da = matrix(third, 1, 1)}),
      bind(GemmGradB{.dc = matrix(nowhere, most, 1), .a = matrix(second, most, 1), .db = matrix(third, 1, 1)}),
      bind(SoftmaxForward{.x = matrix(nowhere, most, 1), .y = matrix(second, most, 1)}),
      bind(SoftmaxForward{.x = matrix(nowhere, most >> 24, 1 << 24), .y = matrix(second, most >> 24, 1 << 24)}),
  };
  for (Call call : calls) {
    const Status status = check(call);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int threads : {1, 1024})
      EXPECT_LE(workspace_bytes(call, threads), evaluate(workspace_formula(*call.contract), call, threads).value())
          << call.contract->name;
  }
}

TEST(Workspace, OfAProductIsNoWiderThanTheProduct) {
  const Checked c = checked(problems::parse_problems("gemm.forward m=1 n=1 k=6000").value()[0]);
  EXPECT_LE(workspace_bytes(c.call, 1), 4 * (32 * 6000 + kPanelRows * (kPanelInner + 32)));
  EXPECT_LE(evaluate(workspace_formula(*c.call.contract), c.call, 1).value(),
            32 * (8 * 6128 + 4) + 4 * kPanelRows * (kPanelInner + 32));
}

TEST(Workspace, OfARowOperatorWithoutColumnSumsIsAFewRowsPerThread) {
  for (const char* name :
       {"layernorm.forward", "softmax.forward", "softmax.backward", "cross_entropy.forward_backward"}) {
    SCOPED_TRACE(name);
    const Checked c = checked(problems::parse_problems(std::string(name) + " rows=2000 cols=100").value()[0]);
    const std::int64_t partial_sums = 4 * ((2000 + 31) / 32);  // of the mean loss
    EXPECT_LE(workspace_bytes(c.call, 2), 2 * (kRowMachineBytes + 3 * row_buffer_bytes(100) + partial_sums));
  }
}

}  // namespace
}  // namespace tokitai

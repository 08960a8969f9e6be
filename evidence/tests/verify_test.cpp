// The verifier against devices that are wrong on purpose: each kind of fault must be seen and put into words.
#include "evidence/verify.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "evidence/tests/faulty_machine.h"
#include "numerics/half.h"
#include "patterns/segment.h"
#include "runtime/machine.h"

namespace tokitai::evidence {
namespace {

class RefusingMachine : public Machine {
 public:
  Status run(const Call&, Outcome&) override { return {Code::unavailable, "out of paper"}; }
  std::string description() const override { return "refuses"; }
};

class IdleMachine : public Machine {
 public:
  Status run(const Call&, Outcome&) override { return {}; }
  std::string description() const override { return "does nothing"; }
};

std::vector<problems::Problem> problems(std::string_view line) { return problems::parse_problems(line).value(); }

OperatorResult verify_with(std::string_view line, std::shared_ptr<Machine> machine, bool cut = false,
                           bool hostile = false) {
  return verify(problems(line), {{"test", Device("test", std::move(machine)), cut, hostile}}, {}).summary;
}
OperatorResult verify_fault(std::string_view line, FaultyMachine::Fault fault, bool cut = false) {
  return verify_with(line, std::make_shared<FaultyMachine>(std::move(fault)), cut);
}
// Each operand a call writes.
void for_outputs(const Call& call, const std::function<void(const View&)>& visit) {
  const auto set = [&](const Operands& operands) {
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i)
      if (call.contract->operands[i].role != Role::in && operands[i].elements() > 0) visit(operands[i]);
  };
  if (call.contract->list)
    for (const Operands& operands : call.list) set(operands);
  else
    set(call.operands);
}
const View& last_output(const Call& call) {
  int i = static_cast<int>(call.contract->operands.size()) - 1;
  while (i > 0 && (!call.operand(i).present() || call.contract->operands[static_cast<std::size_t>(i)].role == Role::in))
    --i;
  return call.operand(i);
}

constexpr const char* kSmallProblems[] = {"adamw.step n=5+9 t=1",
                                          "layernorm.forward rows=3 cols=5",
                                          "layernorm.backward rows=3 cols=5",
                                          "rmsnorm.forward rows=3 cols=5 master=yes",
                                          "rmsnorm.backward rows=3 cols=5",
                                          "softmax.forward rows=3 cols=5",
                                          "softmax.backward rows=3 cols=5",
                                          "cross_entropy.forward_backward rows=3 cols=5 reduction=sum master=yes",
                                          "embedding.forward queries=3 dim=5 vocab=4",
                                          "embedding.backward queries=3 dim=5 vocab=4",
                                          "gemm.forward m=3 n=4 k=5",
                                          "gemm.grad_a m=3 n=4 k=5",
                                          "gemm.grad_b m=3 n=4 k=5"};

TEST(ProblemLines, NothingBetweenTwoSeparatorsIsRefused) {
  for (const char* line :
       {"adamw.step n=++100++5+ t=2", "adamw.step n=5+7 t=2 shift=+1", "adamw.step n=5+7 t=2 master=no+",
        "softmax.forward rows=3,,5 cols=7", "softmax.forward rows= cols=7"})
    EXPECT_EQ(problems::parse_problems(line).status().code(), Code::invalid) << line;
  EXPECT_EQ(problems::parse_problems("  softmax.forward   rows=3,5 cols=7 ").value().size(), 2u);
}

TEST(Verify, FindsTheReferenceEqualToItself) {
  for (const char* line : kSmallProblems) {
    const OperatorResult r = verify_fault(line, [](const Call&) {});
    EXPECT_EQ(r.problems, 1);
    EXPECT_EQ(r.runs, 1);
    EXPECT_GT(r.compared, 0) << line;
    EXPECT_EQ(r.mismatches, 0) << line;
    EXPECT_EQ(r.failed, 0) << r.first_failure;
    EXPECT_EQ(r.first_failure, "");
  }
}

TEST(Verify, SeesOneFlippedBitInAnyOutput) {
  for (const char* line : kSmallProblems) {
    int outputs = 0;
    verify_fault(line, [&](const Call& call) { for_outputs(call, [&](const View&) { ++outputs; }); });
    ASSERT_GT(outputs, 0) << line;
    for (int wrong = 0; wrong < outputs; ++wrong) {
      const OperatorResult r = verify_fault(line, [&](const Call& call) {
        int output = 0;
        for_outputs(call, [&](const View& view) {
          if (output++ != wrong) return;
          const std::size_t last = static_cast<std::size_t>(view.elements()) * size_of(view.type);  // no padding here
          static_cast<std::byte*>(view.data)[last - size_of(view.type)] ^= std::byte{1};
        });
      });
      EXPECT_EQ(r.mismatches, 1) << line << ", output " << wrong;
      EXPECT_EQ(r.failed, 1) << line << ", output " << wrong;
      EXPECT_NE(r.first_failure.find("expected bits"), std::string::npos) << r.first_failure;
    }
  }
}

TEST(Verify, SeesASkippedLastRow) {
  const auto machine = [](const Call& call) {
    const View& y = last_output(call);
    std::memset(row_pointer(y, y.rows() - 1), 0x5a, static_cast<std::size_t>(y.cols()) * size_of(y.type));
  };
  const OperatorResult r = verify_fault("softmax.forward rows=7 cols=11", machine);
  EXPECT_EQ(r.mismatches, 11);
  EXPECT_EQ(r.failed, 1);
  EXPECT_NE(r.first_failure.find("y[6, 0]"), std::string::npos) << r.first_failure;
  EXPECT_NE(r.first_failure.find("softmax.forward rows=7 cols=11"), std::string::npos) << r.first_failure;
}

TEST(Verify, SeesADeviceThatWritesNothing) {
  for (const char* line : kSmallProblems) {
    const OperatorResult r = verify_with(line, std::make_shared<IdleMachine>());
    EXPECT_GT(r.mismatches, 0) << line;
    EXPECT_EQ(r.failed, 1) << line;
  }
}

TEST(Verify, SeesWrittenPadding) {
  for (const char* line :
       {"softmax.forward rows=3 cols=5 pad=2", "gemm.forward m=3 n=5 k=4 pad=2",
        "embedding.forward queries=3 dim=5 vocab=4 pad=2", "cross_entropy.forward_backward rows=3 cols=5 pad=2"}) {
    const OperatorResult r = verify_fault(line, [](const Call& call) {
      for_outputs(call, [](const View& view) {
        if (view.rank == 2) static_cast<std::uint16_t*>(view.data)[view.row_stride + view.cols()] = 0;
      });
    });
    EXPECT_EQ(r.mismatches, 2) << line;  // two bytes
    EXPECT_EQ(r.failed, 1) << line;
    EXPECT_NE(r.first_failure.find("between rows"), std::string::npos) << r.first_failure;
  }
}

TEST(Verify, SeesASecondRounding) {
  const auto machine = [](const Call& call) {
    // The product once more in f32, rounded to 13 bits first and then to f16's 11.
    const View& c = last_output(call);
    std::vector<float> wide(static_cast<std::size_t>(c.elements()));
    Call single = call;
    single.operands[2] = matrix(wide.data(), c.rows(), c.cols());
    Outcome outcome;
    ASSERT_TRUE(reference::make_machine()->run(single, outcome).ok());
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const std::uint32_t u = bits(wide[i]);
      const std::uint32_t rounded = (u + 0x3ffu + ((u >> 11) & 1u)) & ~0x7ffu;
      static_cast<std::uint16_t*>(c.data)[i] = narrow_f16(from_bits(rounded));
    }
  };
  const OperatorResult r = verify_fault("gemm.forward m=40 n=50 k=8", machine);
  EXPECT_GT(r.mismatches, 0);
  EXPECT_LT(r.mismatches, 400);  // only where the first rounding made a tie
  EXPECT_EQ(r.failed, 1);
}

TEST(Verify, SeesRowsThatDependOnTheBatchAroundThem) {
  const auto machine = [](const Call& call) {
    if (call.operand(0).rows() != 12) static_cast<std::uint16_t*>(last_output(call).data)[0] ^= 1;
  };
  EXPECT_EQ(verify_fault("softmax.forward rows=12 cols=5", machine).failed, 0);
  const OperatorResult r = verify_fault("softmax.forward rows=12 cols=5", machine, true);
  EXPECT_EQ(r.mismatches, 3);  // the first element of each piece
  EXPECT_EQ(r.failed, 1);
}

TEST(Verify, PutsTheReasonOfARefusedRunIntoWords) {
  const OperatorResult r = verify_with("softmax.forward rows=3 cols=5", std::make_shared<RefusingMachine>());
  EXPECT_EQ(r.compared, 0);
  EXPECT_EQ(r.failed, 1);
  EXPECT_NE(r.first_failure.find("out of paper"), std::string::npos) << r.first_failure;
}

TEST(Verify, FailsAProblemTheReferenceRefuses) {
  const OperatorResult r = verify_fault("softmax.forward rows=0 cols=5", [](const Call&) {});
  EXPECT_EQ(r.failed, 1);
  EXPECT_NE(r.first_failure.find("x is empty"), std::string::npos) << r.first_failure;
}

TEST(Verify, FailsWhereNothingWasCompared) {
  // Cut along a dimension that no output has.
  Contract contract = *find_contract("softmax.forward");
  contract.batch = "elsewhere";
  problems::Problem problem = problems("softmax.forward rows=3 cols=5").front();
  problem.contract = &contract;
  const OperatorResult r = verify({problem}, {{"cut", open("reference").value(), true}}, {}).summary;
  EXPECT_EQ(r.compared, 0);
  EXPECT_EQ(r.failed, 1);
  EXPECT_NE(r.first_failure.find("nothing was compared"), std::string::npos) << r.first_failure;
}

TEST(Verify, CutsEveryTensorOfAList) {
  const char* line = "adamw.step n=0+5+1+9 t=1 master=no+yes";
  const OperatorResult right = verify_fault(line, [](const Call&) {}, true);
  EXPECT_EQ(right.failed, 0) << right.first_failure;
  EXPECT_EQ(right.compared, 3 * 15 + 5 + 9);
  const OperatorResult wrong = verify_fault(
      line,
      [](const Call& call) {
        const View& last = call.list.back()[1];
        static_cast<std::uint32_t*>(last.data)[last.elements() - 1] ^= 1;
      },
      true);
  EXPECT_EQ(wrong.mismatches, 3);  // of each piece the last
}

TEST(Verify, TakesDigestsOfWhatAnyTensorHas) {
  const auto instance = problems::Instance::make(problems("adamw.step n=5+3 t=1 master=no+yes").front()).value();
  EXPECT_EQ(input_digests(instance).size(), 5U);
  EXPECT_EQ(output_digests(instance).size(), 4U);
}

TEST(Verify, CountsNothingWhereThereIsNothingToVerify) {
  const VerifyResult none = verify({}, {}, {});
  EXPECT_EQ(none.summary.problems, 0);
  EXPECT_EQ(none.summary.compared, 0);
  EXPECT_TRUE(none.operators.empty());
}

TEST(Verify, AddsUpOverProblemsAndOperators) {
  std::vector<problems::Problem> all = problems("softmax.forward rows=3 cols=5,6");
  for (const problems::Problem& problem : problems("gemm.forward m=2 n=3 k=4")) all.push_back(problem);
  const auto wrong = [](const Call& call) { static_cast<std::uint16_t*>(last_output(call).data)[0] ^= 1; };
  std::size_t announced = 0;
  const VerifyResult r = verify(
      all, {{"right", open("reference").value()}, {"wrong", Device("wrong", std::make_shared<FaultyMachine>(wrong))}},
      [&](const problems::Problem&, std::size_t done, std::size_t of) {
        EXPECT_EQ(done, announced++);
        EXPECT_EQ(of, 3u);
      });
  EXPECT_EQ(announced, 3u);
  EXPECT_EQ(r.variants, (std::vector<std::string>{"right", "wrong"}));
  ASSERT_EQ(r.operators.size(), 2u);
  EXPECT_EQ(r.operators[0].compared, 2 * (15 + 18));
  EXPECT_EQ(r.operators[0].mismatches, 2);
  EXPECT_EQ(r.operators[1].mismatches, 1);
  EXPECT_EQ(r.summary.runs, 6);
  EXPECT_EQ(r.summary.failed, 3);
  EXPECT_EQ(r.summary.first_failure, r.operators[0].first_failure);
}

TEST(Verify, RecordsWhatTheDeviceReadAndWrote) {
  const auto recorded = [](FaultyMachine::Fault fault) {
    const auto machine = std::make_shared<FaultyMachine>(std::move(fault));
    return verify(problems("cross_entropy.forward_backward rows=3 cols=5 pad=2"), {{"test", Device("test", machine)}},
                  {}, "reference", Digests::taken)
        .problems.at(0);
  };
  const ProblemResult right = recorded([](const Call&) {});
  ASSERT_EQ(right.inputs.size(), 2u);
  ASSERT_EQ(right.outputs.size(), 2u);
  EXPECT_EQ(right.inputs[0].first, "logits");
  EXPECT_EQ(right.outputs[1].first, "grad");
  const ProblemResult wrong =
      recorded([](const Call& call) { static_cast<std::uint16_t*>(call.operand(3).data)[0] ^= 1; });
  EXPECT_EQ(wrong.inputs, right.inputs);
  EXPECT_EQ(wrong.outputs[0], right.outputs[0]);  // loss
  EXPECT_NE(wrong.outputs[1], right.outputs[1]);  // the device's own bits, not the reference's
  const ProblemResult padding =
      recorded([](const Call& call) { static_cast<std::uint16_t*>(call.operand(3).data)[5] ^= 1; });
  EXPECT_EQ(padding.outputs, right.outputs);  // what lies between rows is compared, but is no element
  EXPECT_EQ(padding.failed, 1);
  const auto refused =
      verify(problems("softmax.forward rows=3 cols=5"), {{"test", Device("test", std::make_shared<RefusingMachine>())}},
             {}, "reference", Digests::taken);
  EXPECT_TRUE(refused.problems.at(0).outputs.empty());
}

TEST(Digest, OfElementsLeavesOutWhatLiesBetweenRows) {
  std::vector<float> wide = {1, 2, 7, 3, 4, 8}, tight = {1, 2, 3, 4};
  const std::vector<Operands> a = {{matrix(wide.data(), 2, 2, 3)}}, b = {{matrix(tight.data(), 2, 2)}},
                              c = {{vector(tight.data(), 4)}};
  EXPECT_EQ(elements_digest(a, 0), elements_digest(b, 0));
  EXPECT_EQ(elements_digest(b, 0), elements_digest(c, 0));
  // Tensors of a list follow one another.
  EXPECT_EQ(elements_digest({{vector(tight.data(), 1)}, {vector(tight.data() + 1, 3)}}, 0), elements_digest(c, 0));
  wide[4] = 5;
  EXPECT_NE(elements_digest(a, 0), elements_digest(b, 0));
}

TEST(Verify, RunsTheCpuDeviceInEveryWay) {
  const auto variants = cpu_variants(cpu_isas(), {1, 2});
  ASSERT_TRUE(variants.ok());
  // Where integers are multiplied, by everything that can.
  const auto ways = static_cast<std::int64_t>(cpu_isas().size() * 4), all = static_cast<std::int64_t>(variants->size());
  EXPECT_EQ(all, ways + static_cast<std::int64_t>(cpu_integers().size() - cpu_isas().size()));
  for (const char* line : kSmallProblems) {
    const OperatorResult r = verify(problems(line), variants.value(), {}).summary;
    EXPECT_EQ(r.failed, 0) << r.first_failure;
    EXPECT_EQ(r.runs, ways) << line;
  }
  const OperatorResult integers =
      verify(problems("gemm.forward m=3 n=4 k=5 arithmetic=block15"), variants.value(), {}).summary;
  EXPECT_EQ(integers.failed, 0) << integers.first_failure;
  EXPECT_EQ(integers.runs, all);
  EXPECT_FALSE(cpu_variants({"mmx"}, {1}).ok());
}

}  // namespace
}  // namespace tokitai::evidence

// A report of one call: the same answer as without, everything told, and a wrong device is found out.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "evidence/tests/every_operator.h"
#include "evidence/tests/faulty_machine.h"
#include "problems/instance.h"
#include "reports/digest.h"
#include "tokitai/report.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

TEST(CallReport, ComparesEveryOutputOfEveryOperator) {
  Device device = open("cpu").value();
  for (const char* line : kEveryOperator) {
    SCOPED_TRACE(line);
    const problems::Problem problem = problems::parse_problems(line).value()[0];
    auto with = problems::Instance::make(problem), without = problems::Instance::make(problem);
    const auto report = run_with_report(device, with->call());
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->equal()) << report->first_difference;
    EXPECT_EQ(report->op, problem.contract->name);
    EXPECT_EQ(report->contract_digest, evidence::contract_digest(*problem.contract));
    EXPECT_EQ(report->non_claims.size(), problem.contract->non_claims.size());
    // What it wrote is what a plain run writes, and the digests are those of the caller's memory.
    Call plain = without->call();
    ASSERT_TRUE(device.run(plain).ok());
    for (const OperandReport& operand : report->operands) {
      const auto i = static_cast<std::size_t>(problem.contract->operand_index(operand.name));
      EXPECT_EQ(operand.written, without->written(i) ? evidence::elements_digest(without->sets(), i) : "");
      EXPECT_EQ(operand.compared > 0, without->written(i)) << operand.name;
    }
  }
}

TEST(CallReport, FindsAWrongDeviceOut) {
  const float x[2][3] = {{0, 0, 0}, {1, 2, 3}};
  float y[2][3] = {};
  Device wrong("wrong", std::make_shared<FaultyMachine>(
                            [](const Call& call) { static_cast<float*>(call.operand(1).data)[4] += 1; }));
  const auto report = run_with_report(wrong, SoftmaxForward{.x = matrix(&x[0][0], 2, 3), .y = matrix(&y[0][0], 2, 3)});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->equal());
  EXPECT_EQ(report->compared, 6);
  EXPECT_EQ(report->differing, 1);
  EXPECT_NE(report->first_difference.find("y[1, 1]"), std::string::npos) << report->first_difference;
  EXPECT_NE(report->markdown().find("1 of 6 outputs differ"), std::string::npos);
  EXPECT_NE(report->html().find("verdict bad"), std::string::npos);
}

TEST(CallReport, AnswersARefusedCallWithItsStatus) {
  const float x[3] = {1, 2, 3};
  float y[2] = {7, 7};
  Device device = open("cpu").value();
  const auto report = run_with_report(device, SoftmaxForward{.x = matrix(x, 1, 3), .y = matrix(y, 1, 2)});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::invalid);
  EXPECT_EQ(y[0], 7);
  EXPECT_FALSE(run_with_report(device, Call{}).ok());
}

TEST(CallReport, TellsTheSameInEveryForm) {
  const float x[3] = {1, 2, 3}, gamma[3] = {1, 1, 1}, beta[3] = {0, 0, 0};
  float y[3] = {}, mean[1] = {}, rstd[1] = {};
  Device device = open("cpu").value();
  auto report = run_with_report(device, LayernormForward{.x = matrix(x, 1, 3),
                                                         .gamma = vector(gamma, 3),
                                                         .beta = vector(beta, 3),
                                                         .eps = 0.5f,
                                                         .y = matrix(y, 1, 3),
                                                         .mean = vector(mean, 1),
                                                         .rstd = vector(rstd, 1)});
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto json = nlohmann::json::parse(report->json());
  EXPECT_EQ(json["operator"], "layernorm.forward");
  EXPECT_EQ(json["outputs_compared"], 5);
  EXPECT_EQ(json["mismatches"], 0);
  EXPECT_EQ(json["options"]["eps"], "0.5");
  EXPECT_EQ(json["operands"][3]["written_sha256"], report->operands[3].written);
  EXPECT_FALSE(json.contains("worst_ulp"));
  for (const std::string& text : {report->markdown(), report->html()}) {
    EXPECT_NE(text.find("All 5 outputs are equal"), std::string::npos);
    EXPECT_NE(text.find(report->contract_digest), std::string::npos);
    EXPECT_NE(text.find("eps = 0.5"), std::string::npos);
    EXPECT_EQ(text.find("last place"), std::string::npos);  // nothing was measured
  }
  report->error = TrueError{.outputs = 5, .worst_ulp = 0.25, .bound_ulp = 0.75};
  EXPECT_NE(report->html().find("0.25 units in the last place; the derived bound is 0.75"), std::string::npos);
  EXPECT_NE(report->html().find("verdict good"), std::string::npos);
  report->error->exceeded = 1;
  EXPECT_NE(report->html().find("verdict bad"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(report->json())["beyond_bound"], 1);
}

}  // namespace
}  // namespace tokitai

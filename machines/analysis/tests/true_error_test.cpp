// The true error of a call in its report: of every operator, in place or not, and a wrong device is beyond its bound.
#include "tokitai/true_error.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evidence/tests/every_operator.h"
#include "evidence/tests/faulty_machine.h"
#include "problems/instance.h"
#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

TEST(TrueError, OfEveryOperator) {
  Device device = open("cpu").value();
  for (const char* line : kEveryOperator) {
    SCOPED_TRACE(line);
    auto instance = problems::Instance::make(problems::parse_problems(line).value()[0]);
    const auto report = run_with_report(device, instance->call(), {.measure = true_error});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report->equal()) << report->first_difference;
    ASSERT_TRUE(report->error);
    EXPECT_GT(report->error->outputs, 0);
    EXPECT_TRUE(report->within_bound()) << report->error->first_exceeded;
    EXPECT_LE(report->error->worst_ulp, report->error->bound_ulp);
  }
}

TEST(TrueError, AWrongOutputIsBeyondItsBound) {
  const float x[2][3] = {{0, 0, 0}, {1, 2, 3}};
  float y[2][3] = {};
  Device wrong("wrong", std::make_shared<FaultyMachine>(
                            [](const Call& call) { static_cast<float*>(call.operand(1).data)[4] *= 1.001f; }));
  const auto report = run_with_report(wrong, SoftmaxForward{.x = matrix(&x[0][0], 2, 3), .y = matrix(&y[0][0], 2, 3)},
                                      {.measure = true_error});
  ASSERT_TRUE(report.ok() && report->error);
  EXPECT_FALSE(report->within_bound());
  EXPECT_EQ(report->error->exceeded, 1);
  EXPECT_NE(report->error->first_exceeded.find("y[1, 1]"), std::string::npos) << report->error->first_exceeded;
}

TEST(TrueError, LeavesLargeCallsAndSkippedOnesOut) {
  Device device = open("cpu").value();
  auto large = problems::Instance::make(problems::parse_problems("gemm.forward m=256 n=256 k=256").value()[0]);
  const auto unmeasured = run_with_report(device, large->call(), {.measure = true_error});
  ASSERT_TRUE(unmeasured.ok());
  EXPECT_TRUE(unmeasured->equal());
  EXPECT_FALSE(unmeasured->error);

  float theta[2] = {1, 2}, m[2] = {}, v[2] = {}, grad[2] = {1, INFINITY};
  const AdamwTensor tensor{.theta = vector(theta, 2), .m = vector(m, 2), .v = vector(v, 2), .grad = vector(grad, 2)};
  const auto skipped = run_with_report(device, AdamwStep{.tensors = {&tensor, 1}, .t = 1, .skip_nonfinite = true},
                                       {.measure = true_error});
  ASSERT_TRUE(skipped.ok()) << skipped.status().message();
  EXPECT_TRUE(skipped->outcome.skipped);
  EXPECT_FALSE(skipped->error);
}

}  // namespace
}  // namespace tokitai

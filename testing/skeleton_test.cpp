// The family to copy, run as a real one: a library with operators/skeleton as its only family is made from the same
// sources (cmake/skeleton.cmake), so that what CONTRIBUTING.md says to do is done here on every test run.
#include "tokitai/skeleton.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/compiler.h"
#include "evidence/verify.h"

namespace tokitai {
namespace {

TEST(Skeleton, IsTheOnlyFamilyOfThisLibrary) {
  ASSERT_EQ(contracts().size(), 1U);
  EXPECT_EQ(contracts()[0]->name, "skeleton.forward");
}

TEST(Skeleton, EqualsTheReferenceBitForBitInEveryWayOfRunningIt) {
  const auto problems = testing::problems(testing::Use::verify);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  auto variants = evidence::cpu_variants(cpu_isas(), {1, 2, 5});
  ASSERT_TRUE(variants.ok()) << variants.status().message();
  const auto result = evidence::verify(problems.value(), std::move(variants).value(), {});
  EXPECT_GT(result.summary.compared, 1000000);
  EXPECT_EQ(result.summary.mismatches, 0);
  EXPECT_EQ(result.summary.failed, 0) << result.summary.first_failure;
}

// A new operator has its GPU kernels at once: here they run on checked fibers, with warps of 32 and of 64.
TEST(Skeleton, EqualsTheReferenceOnCheckedFibers) {
  if (!compiler::toolchain(compiler::Vendor::host).ok()) GTEST_SKIP() << "no C++ compiler";
  const auto problems = testing::problems(testing::Use::verify_lockstep);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  std::vector<evidence::Variant> variants;
  for (const char* name : {"lockstep", "lockstep:64"}) variants.push_back({name, open(name).value()});
  const Status compiled = evidence::compile_ahead(problems.value(), variants, {});
  ASSERT_TRUE(compiled.ok()) << compiled.message();
  const auto result = evidence::verify(problems.value(), std::move(variants), {});
  EXPECT_GT(result.summary.compared, 100000);
  EXPECT_GT(result.summary.checks.accesses, 100000);
  EXPECT_EQ(result.summary.checks.findings, 0);
  EXPECT_EQ(result.summary.mismatches, 0);
  EXPECT_EQ(result.summary.failed, 0) << result.summary.first_failure;
}

TEST(Skeleton, ComputesItsFormula) {
  const float x[2][2] = {{3, 4}, {0, 0}};
  float y[2][2] = {}, rstd[2] = {};
  Device device = open("cpu").value();
  const SkeletonForward arguments{
      .x = matrix(&x[0][0], 2, 2), .eps = 0.25f, .y = matrix(&y[0][0], 2, 2), .rstd = vector(rstd, 2)};
  const Status status = skeleton_forward(device, arguments);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(rstd[0], 1.0f / std::sqrt(12.75f));
  EXPECT_EQ(rstd[1], 2.0f);
  EXPECT_EQ(y[0][0], 3 * rstd[0]);
  EXPECT_EQ(y[0][1], 4 * rstd[0]);
  EXPECT_EQ(y[1][1], 0.0f);
}

TEST(Skeleton, RefusesAnEpsBelowZeroAndWritesNothing) {
  const float x[2] = {3, 4};
  float y[2] = {7, 7}, rstd[1] = {7};
  Device device = open("cpu").value();
  const Status status =
      skeleton_forward(device, {.x = matrix(x, 1, 2), .eps = -1.0f, .y = matrix(y, 1, 2), .rstd = vector(rstd, 1)});
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("eps"), std::string::npos) << status.message();
  EXPECT_EQ(y[0], 7.0f);
  EXPECT_EQ(rstd[0], 7.0f);
}

}  // namespace
}  // namespace tokitai

// The family to copy, run as a real one: a library with operators/skeleton as its only family is made from the same
// sources (cmake/skeleton.cmake), with the tests in its folder, so that what CONTRIBUTING.md says to do is done here on
// every test run.
#include <gtest/gtest.h>

#include "accuracy/accuracy.h"
#include "compiler/compiler.h"
#include "contract/contract.h"
#include "evidence/verify.h"

namespace tokitai {
namespace {

TEST(Skeleton, IsTheOnlyFamilyOfThisLibrary) {
  ASSERT_EQ(contracts().size(), 1U);
  EXPECT_EQ(contracts()[0]->name, "skeleton.forward");
}

TEST(Skeleton, EqualsTheReferenceBitForBitInEveryWayOfRunningIt) {
  const auto problems = problems::for_use(problems::Use::verify);
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
  const auto problems = problems::for_use(problems::Use::verify_lockstep);
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

TEST(Skeleton, NoDerivedBoundIsExceeded) {
  const auto problems = problems::for_use(problems::Use::accuracy);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  Device device = open("cpu").value();
  const auto found = evidence::accuracy(problems.value(), device);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_GT(found->front().outputs, 10000);
  EXPECT_EQ(found->front().exceeded, 0) << found->front().first_exceeded;
}

}  // namespace
}  // namespace tokitai

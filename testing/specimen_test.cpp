// Every verb and every value of the row pattern on the host's machines: a library with operators/specimen as its only
// family (cmake/skeleton.cmake). tools/mutants.py runs the same on a broken row pattern.
#include <gtest/gtest.h>

#include "evidence/accuracy.h"
#include "evidence/verify.h"

namespace tokitai {
namespace {

TEST(Specimen, EqualsTheReferenceBitForBitInEveryWayOfRunningIt) {
  const auto problems = testing::problems(testing::Use::verify);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  auto variants = evidence::cpu_variants(cpu_isas(), {1, 2, 5});
  ASSERT_TRUE(variants.ok()) << variants.status().message();
  const auto result = evidence::verify(problems.value(), std::move(variants).value(), {});
  EXPECT_GT(result.summary.compared, 1000000);
  EXPECT_EQ(result.summary.mismatches, 0);
  EXPECT_EQ(result.summary.failed, 0) << result.summary.first_failure;
}

TEST(Specimen, NoDerivedBoundIsExceeded) {
  const auto problems = testing::problems(testing::Use::accuracy);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  Device device = open("cpu").value();
  const auto found = evidence::accuracy(problems.value(), device);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_GT(found->front().outputs, 10000);
  EXPECT_EQ(found->front().exceeded, 0) << found->front().first_exceeded;
}

}  // namespace
}  // namespace tokitai

// Every verb and every value of the row pattern on the host's machines: a library with operators/specimen as its only
// family (cmake/skeleton.cmake). tools/mutants.py runs the same on a broken row pattern.
#include <gtest/gtest.h>

#include "accuracy/accuracy.h"
#include "contract/build.h"
#include "evidence/verify.h"
#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(Specimen, EqualsTheReferenceBitForBitInEveryWayOfRunningIt) {
  const auto problems = problems::for_use(problems::Use::verify);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  auto variants = evidence::cpu_variants(cpu_isas(), {1, 2, 5});
  ASSERT_TRUE(variants.ok()) << variants.status().message();
  const auto result = evidence::verify(problems.value(), std::move(variants).value(), {});
  EXPECT_GT(result.summary.compared, 1000000);
  EXPECT_EQ(result.summary.mismatches, 0);
  EXPECT_EQ(result.summary.failed, 0) << result.summary.first_failure;
}

TEST(Specimen, NoDerivedBoundIsExceeded) {
  const auto problems = problems::for_use(problems::Use::accuracy);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  Device device = open("cpu").value();
  const auto found = evidence::accuracy(problems.value(), device);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->size(), contracts().size());
  for (const auto& one : found.value()) {
    EXPECT_GT(one.outputs, 10000);
    EXPECT_EQ(one.exceeded, 0) << one.first_exceeded;
  }
}

TEST(Specimen, CopiesBitsWhereTypesAreOne) {
  on_every_device(
      "specimen.elements rows=2 cols=37 type=f16 to=f16 pad=0,3",
      [](const Operand& of) { reference::at<std::uint16_t>(of("x"), 1, 36) = 0xfe01; },
      [](const Operand& of) { EXPECT_EQ(reference::at<std::uint16_t>(of("copy"), 1, 36), 0xfe01); });
}

TEST(Specimen, SkipsWithoutWriting) {
  const float x[3] = {1, 2000, 3};
  float y[3] = {7, 7, 7}, copy[3] = {7, 7, 7};
  for (Device& device : host_devices()) {
    Call call = make_call("specimen.elements",
                          {unconst(ConstView(matrix(x, 1, 3))), View{}, matrix(y, 1, 3), matrix(copy, 1, 3)},
                          {option_f32(1), option_integer(0), option_integer(1)});
    Outcome outcome;
    const Status status = device.run(call, &outcome);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(outcome.skipped);
    EXPECT_EQ(outcome.skipped_position, 1);
    EXPECT_EQ(y[0], 7);
    EXPECT_EQ(copy[2], 7);
  }
}

}  // namespace
}  // namespace tokitai

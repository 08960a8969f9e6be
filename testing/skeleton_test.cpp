// The family to copy, run as a real one: a library with operators/skeleton as its only family is made from the same
// sources (cmake/skeleton.cmake), so that what CONTRIBUTING.md says to do is done here on every test run.
#include "tokitai/skeleton.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/compiler.h"
#include "evidence/accuracy.h"
#include "evidence/verify.h"
#include "machines/device/compile_ahead.h"
#include "operators/tests/edges.h"

namespace tokitai {
namespace {

TEST(Skeleton, IsTheOnlyFamilyOfThisLibrary) {
  ASSERT_EQ(contracts().size(), 2U);
  EXPECT_EQ(contracts()[0]->name, "skeleton.forward");
  EXPECT_EQ(contracts()[1]->name, "skeleton.words");
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

// Every word of values in the text of both vendors' compilers.
TEST(Skeleton, CompilesForGpusOfBothKinds) {
  const auto problems = testing::problems(testing::Use::compile);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  std::vector<Call> calls;
  for (const testing::Problem& problem : problems.value())
    calls.push_back(testing::call_without_memory(problem).value());
  ASSERT_GE(calls.size(), 2U);
  const auto texts = device::device_headers();
  std::vector<compiler::Header> headers;
  for (const device::Text& text : texts) headers.push_back({text.name, text.text});
  int compiled = 0;
  for (const char* name : {"sm_90a", "gfx942"}) {
    const compiler::Target target = compiler::find_target(name).value();
    if (!compiler::toolchain(target.vendor).ok()) continue;
    for (int variant = 0; variant < device::kVariants; ++variant) {
      const Status status = device::compile_ahead(calls, {target, 100, variant}, headers, target, {});
      EXPECT_TRUE(status.ok()) << name << ": " << status.message();
    }
    ++compiled;
  }
  if (compiled == 0) GTEST_SKIP() << "no compiler for GPUs";
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

TEST(Skeleton, NoDerivedBoundIsExceeded) {
  const auto problems = testing::problems(testing::Use::accuracy);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  Device device = open("cpu").value();
  const auto found = evidence::accuracy(problems.value(), device);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->size(), 2U);
  for (const auto& one : found.value()) {
    EXPECT_GT(one.outputs, 10000);
    EXPECT_EQ(one.exceeded, 0) << one.first_exceeded;
  }
}

TEST(Skeleton, CopiesBitsWhereTypesAreOne) {
  on_every_device(
      "skeleton.words rows=2 cols=37 type=f16 to=f16 pad=0,3",
      [](const Operand& of) { reference::at<std::uint16_t>(of("x"), 1, 36) = 0xfe01; },
      [](const Operand& of) { EXPECT_EQ(reference::at<std::uint16_t>(of("copy"), 1, 36), 0xfe01); });
}
TEST(Skeleton, SkipsWithoutWriting) {
  const float x[3] = {1, 2000, 3};
  float y[3] = {7, 7, 7}, copy[3] = {7, 7, 7};
  for (Device& device : host_devices()) {
    Call call =
        bind(SkeletonWords{.x = matrix(x, 1, 3), .skip_large = true, .y = matrix(y, 1, 3), .copy = matrix(copy, 1, 3)});
    Outcome outcome;
    const Status status = device.run(call, &outcome);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(outcome.skipped);
    EXPECT_EQ(outcome.skipped_position, 1);
    EXPECT_EQ(y[0], 7);
    EXPECT_EQ(copy[2], 7);
  }
}

TEST(Skeleton, SpreadsANanOverItsRow) {
  on_every_device(
      "skeleton.forward rows=2 cols=300 type=f16,bf16,f32",
      [](const Operand& of) { reference::write(of("x"), 1, 7, kNan); },
      [](const Operand& of) {
        for (std::int64_t c = 0; c < 300; ++c) ASSERT_TRUE(is_canonical_nan(of("y"), 1, c));
        EXPECT_TRUE(is_canonical_nan(of("rstd"), 1));
        EXPECT_FALSE(is_nan(value_at(of("y"), 0, 7)));
      });
}
TEST(Skeleton, HasNoReciprocalOfAnInfiniteSum) {
  on_every_device(
      "skeleton.forward rows=2 cols=3 type=f32",
      [](const Operand& of) {
        set_row(of("x"), 0, {1, -kInfinity, 2});
        set_row(of("x"), 1, {1, 1e30f, -1e30f});  // whose squares overflow
      },
      [](const Operand& of) {
        for (const std::int64_t r : {0, 1}) {
          EXPECT_TRUE(is_plus_zero(value_at(of("rstd"), r)));
          EXPECT_TRUE(is_plus_zero(value_at(of("y"), r, 0)));
        }
        EXPECT_TRUE(is_canonical_nan(of("y"), 0, 1));
      });
}
TEST(Skeleton, DividesZerosByZeroWithoutEps) {
  on_every_device(
      "skeleton.forward rows=1 cols=3 eps=0 type=f16,bf16,f32", [](const Operand& of) { set_all(of("x"), 0); },
      [](const Operand& of) {
        EXPECT_EQ(value_at(of("rstd"), 0), kInfinity);
        for (std::int64_t c = 0; c < 3; ++c) EXPECT_TRUE(is_canonical_nan(of("y"), 0, c));
      });
}
TEST(Skeleton, KeepsSubnormals) {
  on_every_device(
      "skeleton.forward rows=1 cols=2 eps=1 type=f16,bf16,f32",
      [](const Operand& of) { set_all(of("x"), of("x").type == Type::f16 ? 0x1p-23f : 0x1p-132f); },
      [](const Operand& of) { EXPECT_TRUE(is_subnormal(value_at(of("y"), 0, 1), of("y").type)); });
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

// Every verb and every value of the row pattern as GPUs have them: on checked fibers, and compiled for each vendor.
#include <gtest/gtest.h>

#include "compiler/audit.h"
#include "compiler/compiler.h"
#include "evidence/verify.h"
#include "machines/device/plan.h"
#include "problems/instance.h"

namespace tokitai {
namespace {

TEST(Specimen, EqualsTheReferenceOnCheckedFibers) {
  if (!compiler::toolchain(compiler::Vendor::host).ok()) GTEST_SKIP() << "no C++ compiler";
  const auto problems = problems::for_use(problems::Use::verify_lockstep);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  auto made = evidence::lockstep_variants();
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::vector<evidence::Variant> variants = std::move(made).value();
  const Status compiled = evidence::compile_ahead(problems.value(), variants, {});
  ASSERT_TRUE(compiled.ok()) << compiled.message();
  const auto result = evidence::verify(problems.value(), std::move(variants), {});
  EXPECT_GT(result.summary.compared, 100000);
  EXPECT_EQ(result.summary.checks.findings, 0);
  EXPECT_EQ(result.summary.mismatches, 0);
  EXPECT_EQ(result.summary.failed, 0) << result.summary.first_failure;
}

TEST(Specimen, CompilesAndPassesTheAuditForAGpuOfEachVendor) {
  const auto problems = problems::for_use(problems::Use::compile);
  ASSERT_TRUE(problems.ok()) << problems.status().message();
  std::vector<compiler::Header> headers;
  for (const device::Text& text : device::device_headers()) headers.push_back({text.name, text.text});
  for (const char* name : {"sm_90a", "gfx942"}) {
    const compiler::Target target = compiler::find_target(name).value();
    if (!compiler::toolchain(target.vendor).ok()) continue;
    for (const problems::Problem& problem : problems.value()) {
      const Call call = problems::call_without_memory(problem).value();
      const auto program = device::plan(call, {target, 132});
      ASSERT_TRUE(program.ok()) << program.status().message();
      const Record record = describe(call);
      EXPECT_EQ(program->launches.size(), record.column_sums != 0 || record.checks ? 2U : 1U);
      for (const device::Launch& launch : program->launches) {
        SCOPED_TRACE(launch.kernel);
        const auto artifact = compiler::compile({launch.kernel, launch.source, headers, {}}, target);
        ASSERT_TRUE(artifact.ok()) << artifact.status().message();
        EXPECT_TRUE(compiler::audit(artifact.value(), target).empty());
      }
    }
  }
}

}  // namespace
}  // namespace tokitai

// The audit of whole artifacts: figures, and what the compilers here make of correct and of forbidden text.
#include "compiler/audit.h"

#include <gtest/gtest.h>

#include "compiler/tests/kernels.h"

namespace tokitai::compiler::testing {
namespace {

TEST(Audit, CatchesSpillsAndWhatItCouldNotSee) {
  const Target target = find_target("sm_90a").value();
  const auto rule = [&](const Resources& resources) {
    Artifact artifact;
    artifact.text = ".visible .entry k(\n)\n{\n\tret;\n}\n";
    artifact.resources = {resources};
    const auto findings = audit(artifact, target);
    return findings.empty() ? "" : findings[0].rule;
  };
  EXPECT_EQ(rule({"k", 255, 0, 0, 1024}), "");
  EXPECT_EQ(rule({"k", 255, 4, 0, 0}), "spilled registers");
  EXPECT_EQ(rule({"k", 255, 0, 8, 0}), "local memory");
  EXPECT_EQ(rule({"k", 255, 0, 0, 300000}), "shared memory");
  EXPECT_EQ(rule({"another", 255, 0, 0, 0}), "no figures");
  EXPECT_EQ(audit({}, target).at(0).rule, "no kernel");
}

// What the compilers make of correct text must pass, and of text that asks for what is forbidden must not.
class AuditCompiled : public WithFolder {
 protected:
  static std::vector<Finding> of(const Source& source, const Target& target) {
    const auto artifact = compile(source, target);
    EXPECT_TRUE(artifact.ok()) << artifact.status().message();
    return artifact.ok() ? audit(artifact.value(), target) : std::vector<Finding>{};
  }
};

TEST_F(AuditCompiled, CorrectTextPassesOnEveryTarget) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  Source source = kernel("k", "scale(q[i]) / ROOT(q[i + 1] + 1.0f / q[i + 2])");
  source.text += R"(
KERNEL void divisions(int* p, const long long* q, const unsigned short* h) {
  int i = thread();
  p[i] = (int)(q[i] / q[i + 1]) + p[i] / p[i + 1] + h[i] / h[i + 1] + (int)((unsigned)p[i + 2] % (unsigned)p[i + 3]);
}
KERNEL void uniform(float* p, long long* q, int* r) {
  p[0] = ROOT(p[1]) / p[2];
  q[0] = q[1] / q[2];
  r[0] = r[1] / r[2];
}
#if defined(__HIP__)
#define DOUBLE_ROOT(x) __builtin_sqrt(x)
#else
#define DOUBLE_ROOT(x) __dsqrt_rn(x)
#endif
KERNEL void doubles(double* p) { p[thread()] = p[0] / p[1] + DOUBLE_ROOT(p[2]); }
)";
  for (const Target& target : targets()) {
    if (!toolchain(target.vendor).ok()) continue;
    for (const Finding& finding : of(source, target))
      ADD_FAILURE() << target.name << " " << finding.kernel << ": " << finding.rule << ": " << finding.line;
  }
}

TEST_F(AuditCompiled, ForbiddenTextDoesNot) {
  const auto here = targets_here();
  SKIP_WITHOUT_COMPILER(here);
  for (const Target& target : targets()) {
    if (!toolchain(target.vendor).ok()) continue;
    const bool nvidia = target.vendor == Vendor::nvidia;
    EXPECT_FALSE(of(kernel("k", nvidia ? "__frcp_rd(q[i])" : "__builtin_amdgcn_rcpf(q[i])"), target).empty());
    EXPECT_FALSE(of(kernel("k", nvidia ? "__fsqrt_rz(q[i])" : "__builtin_amdgcn_sqrtf(q[i])"), target).empty());
    EXPECT_FALSE(of(kernel("k", nvidia ? "__expf(q[i])" : "__builtin_amdgcn_exp2f(q[i])"), target).empty());
    Source stack = kernel("k", "q[i]");
    stack.text +=
        "KERNEL void big(float* p, int n) { volatile float a[100]; for (int i = 0; i < n; ++i) a[i] = p[i]; p[0] = a[n "
        "/ 2]; }\n";
    EXPECT_FALSE(of(stack, target).empty()) << target.name;
  }
}

}  // namespace
}  // namespace tokitai::compiler::testing

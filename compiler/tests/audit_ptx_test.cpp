// One small PTX text per rule, each caught, and clean ones passed.
#include <gtest/gtest.h>

#include "compiler/audit_text.h"

namespace tokitai::compiler::testing {
namespace {

std::string ptx(const std::string& body, const std::string& name = "k") {
  return ".version 9.0\n.target sm_90a\n// .globl k: add.f32 in a comment is none\n.visible .entry " + name +
         "(\n\t.param .u64 k_param_0\n)\n{\n\t.reg .f32 \t%f<5>;\n\t" + body + "\n\tret;\n\n}\n";
}

std::string rule_of(const std::string& body, bool atomics = false, const std::string& name = "k") {
  const TextAudit audit = audit_ptx(ptx(body, name), atomics, false);
  EXPECT_EQ(audit.kernels, std::vector<std::string>{name});
  if (audit.findings.empty()) return "";
  EXPECT_EQ(audit.findings.size(), 1u) << body;
  EXPECT_EQ(audit.findings[0].kernel, name);
  return audit.findings[0].rule;
}

TEST(AuditPtx, PassesIeeeArithmetic) {
  for (const char* clean :
       {"add.rn.f32 %f1, %f2, %f3;",
        "sub.rn.f32 %f1, %f2, %f3;",
        "mul.rn.f64 %fd1, %fd2, %fd3;",
        "fma.rn.f32 %f1, %f2, %f3, %f4;",
        "div.rn.f32 %f1, %f2, %f3;",
        "sqrt.rn.f32 %f1, %f2;",
        "rcp.rn.f32 %f1, %f2;",
        "fma.rn.f32x2 %rd1, %rd2, %rd3, %rd4;",
        "add.s32 %r1, %r2, %r3;",
        "mul.wide.u32 %rd1, %r1, 4;",
        "mad.lo.s32 %r1, %r2, 3, %r4;",
        "div.s32 %r1, %r2, %r3;",
        "cvt.rn.f16.f32 %rs1, %f1;",
        "cvt.f32.f16 %f1, %rs1;",
        "cvt.rn.bf16.f32 %rs1, %f1;",
        "cvt.rzi.s32.f32 %r1, %f1;",
        "max.f32 %f1, %f2, %f3;",
        "neg.f32 %f1, %f2;",
        "setp.lt.f32 %p1, %f1, %f2;",
        "selp.f32 %f1, %f2, %f3, %p1;",
        "redux.sync.add.s32 %r1, %r2, %r3;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1}, {%r2}, {%r3}, {%r4};",
        "@%p1 bra $L__BB0_2;",
        "/* ex2.approx.f32 */ mov.f32 %f1, 0f3F800000;",
        ".pragma \"sin.approx.f32\";"})
    EXPECT_EQ(rule_of(clean), "") << clean;
}

TEST(AuditPtx, CatchesRoundingThatIsNotToNearest) {
  for (const char* bad :
       {"add.f32 %f1, %f2, %f3;", "mul.f32 %f1, %f2, %f3;", "sub.f64 %fd1, %fd2, %fd3;", "add.rz.f32 %f1, %f2, %f3;",
        "fma.rm.f32 %f1, %f2, %f3, %f4;", "mad.f32 %f1, %f2, %f3, %f4;", "div.rp.f32 %f1, %f2, %f3;",
        "sqrt.rz.f32 %f1, %f2;", "cvt.rz.f16.f32 %rs1, %f1;", "cvt.rna.tf32.f32 %r1, %f1;"})
    EXPECT_EQ(rule_of(bad), "rounding") << bad;
  EXPECT_EQ(rule_of("add.rn.sat.f32 %f1, %f2, %f3;"), "saturation");
}

TEST(AuditPtx, CatchesFlushToZero) {
  EXPECT_EQ(rule_of("add.rn.ftz.f32 %f1, %f2, %f3;"), "flush to zero");
  EXPECT_EQ(rule_of("setp.lt.ftz.f32 %p1, %f1, %f2;"), "flush to zero");
  EXPECT_EQ(rule_of("max.ftz.f32 %f1, %f2, %f3;"), "flush to zero");
}

TEST(AuditPtx, CatchesApproximations) {
  for (const char* bad : {"div.approx.f32 %f1, %f2, %f3;", "div.full.f32 %f1, %f2, %f3;", "rcp.approx.f32 %f1, %f2;",
                          "sqrt.approx.f32 %f1, %f2;", "rsqrt.approx.f32 %f1, %f2;", "ex2.approx.f32 %f1, %f2;",
                          "lg2.approx.f32 %f1, %f2;", "sin.approx.f32 %f1, %f2;", "cos.approx.f32 %f1, %f2;",
                          "tanh.approx.f32 %f1, %f2;"})
    EXPECT_EQ(rule_of(bad), "approximation") << bad;
}

TEST(AuditPtx, CatchesHalfArithmeticAndTensorCores) {
  for (const char* bad :
       {"add.f16 %rs1, %rs2, %rs3;", "fma.rn.f16x2 %r1, %r2, %r3, %r4;", "mul.rn.bf16 %rs1, %rs2, %rs3;",
        "fma.rn.bf16x2 %r1, %r2, %r3, %r4;", "sub.rn.f16 %rs1, %rs2, %rs3;"})
    EXPECT_EQ(rule_of(bad), "half arithmetic") << bad;
  EXPECT_EQ(rule_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};"), "tensor core");
  EXPECT_EQ(rule_of("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;"),
            "tensor core");
}

TEST(AuditPtx, CatchesAtomics) {
  for (const char* bad : {"atom.global.add.f32 %f1, [%rd1], %f2;", "red.global.add.f64 [%rd1], %fd1;",
                          "atom.add.noftz.f16x2 %r1, [%rd1], %r2;", "red.global.add.noftz.bf16 [%rd1], %rs1;",
                          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], %r2;"})
    for (const bool allowed : {false, true}) EXPECT_EQ(rule_of(bad, allowed), "float atomic") << bad;
  for (const char* integer : {"atom.global.add.u32 %r1, [%rd1], %r2;", "red.shared.max.s32 [%r1], %r2;",
                              "atom.global.min.u64 %rd1, [%rd2], %rd3;", "atom.global.inc.u32 %r1, [%rd1], %r2;"}) {
    EXPECT_EQ(rule_of(integer), "atomic") << integer;
    EXPECT_EQ(rule_of(integer, true), "") << integer;
    EXPECT_EQ(rule_of(integer, false, "index_check"), "") << integer;
  }
  EXPECT_EQ(rule_of("atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", true), "atomic whose result depends on the order");
  EXPECT_EQ(rule_of("atom.global.exch.b32 %r1, [%rd1], %r2;", true), "atomic whose result depends on the order");
}

// What hopper's kernels declare, and nothing else of tensor cores.
TEST(AuditPtx, LetsHoppersSumsPassWhereTheyAreDeclaredAndNoOthers) {
  const auto findings = [](const std::string& body) { return audit_ptx(ptx(body), false, true).findings.size(); };
  EXPECT_EQ(findings("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;"), 0u);
  EXPECT_EQ(findings("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;"), 0u);
  EXPECT_EQ(findings("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;"), 1u);
  EXPECT_EQ(findings("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1}, %rd1, %rd2, p, 1, 1;"), 1u);
  EXPECT_EQ(findings("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%f1}, %rd1, %rd2, p, 1, 1;"), 1u);
  EXPECT_EQ(findings("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1}, %rd1, %rd2, %r1, 0, p, 1, 1, 0, 0;"),
            1u);
  EXPECT_EQ(findings("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};"), 1u);
  EXPECT_EQ(findings("add.f32 %f1, %f2, %f3;"), 1u);
  // Integers need no declaration.
  EXPECT_EQ(rule_of("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {%r1}, %rd1, %rd2, p;"), "");
}

TEST(AuditPtx, SeesEveryPlaceAnInstructionCanStand) {
  EXPECT_EQ(rule_of("@!%p1 add.f32 %f1, %f2, %f3;"), "rounding");
  EXPECT_EQ(rule_of("$L__BB0_1:\n\t@%p1 add.f32 %f1, %f2, %f3;"), "rounding");
  EXPECT_EQ(rule_of(".loc 1 2 3\n\tadd.f32 %f1, %f2, %f3;"), "rounding");
  EXPECT_EQ(rule_of("{ .reg .f32 t; add.f32 t, %f2, %f3; }"), "rounding");
  EXPECT_EQ(rule_of("mov.f32 %f1, %f2; add.f32 %f1, %f2, %f3;"), "rounding");
  const TextAudit audit = audit_ptx(
      ".func  (.param .b32 func_retval0) _Z1fPf(\n\t.param .b64 p\n)\n{\n\tadd.f32 %f1, %f2, %f3;\n\tret;\n}\n" +
          ptx(""),
      false, false);
  ASSERT_EQ(audit.findings.size(), 1u);
  EXPECT_EQ(audit.findings[0].kernel, "_Z1fPf");
  EXPECT_EQ(audit.findings[0].line, "add.f32 %f1, %f2, %f3");
}

}  // namespace
}  // namespace tokitai::compiler::testing

// One small AMD text per rule, each caught, and clean ones passed. The expansions are as clang 19 writes them.
#include <gtest/gtest.h>

#include "compiler/audit_text.h"

namespace tokitai::compiler::testing {
namespace {

constexpr const char* kModes =
    "\t\t.amdhsa_float_round_mode_32 0\n\t\t.amdhsa_float_round_mode_16_64 0\n"
    "\t\t.amdhsa_float_denorm_mode_32 3\n\t\t.amdhsa_float_denorm_mode_16_64 3\n";

std::string amd(const std::string& body, const std::string& name = "k", const std::string& modes = kModes) {
  return "\t.type\t" + name + ",@function\n" + name +
         ":                 ; @k v_exp_f32 in a comment is none\n; %bb.0:\n" + body +
         "\n\ts_endpgm\n\t.section\t.rodata,\"a\",@progbits\n\t.amdhsa_kernel " + name + "\n" + modes +
         "\t.end_amdhsa_kernel\n\t.text\n.Lfunc_end0:\n";
}

std::string rule_of(const std::string& body, bool atomics = false, const std::string& name = "k") {
  const TextAudit audit = audit_amd(amd(body, name), atomics);
  EXPECT_EQ(audit.kernels, std::vector<std::string>{name});
  if (audit.findings.empty()) return "";
  EXPECT_EQ(audit.findings.size(), 1u) << body;
  EXPECT_EQ(audit.findings[0].kernel, name);
  return audit.findings[0].rule;
}

TEST(AuditAmd, PassesIeeeArithmetic) {
  for (const char* clean : {"v_add_f32_e32 v0, v1, v2",
                            "v_fma_f32 v0, v1, v2, v3",
                            "v_fmac_f32_e32 v0, v1, v2",
                            "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
                            "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]",
                            "v_cvt_f16_f32_e32 v0, v1",
                            "v_cvt_f32_f16_e32 v0, v1",
                            "v_pack_b32_f16 v0, v1, v2",
                            "v_max_f32_e32 v0, v1, v2",
                            "v_mad_u64_u32 v[4:5], s[0:1], v9, v8, 0",
                            "v_cmp_lt_f32_e32 vcc, s0, v0",
                            "ds_read_b32 v0, v1",
                            "ds_write_b128 v0, v[0:3]",
                            "ds_bpermute_b32 v0, v1, v2",
                            "s_fmac_f32 s6, s7, s4",
                            "global_load_short_d16 v0, v1, s[0:1]",
                            "v_mfma_i32_16x16x32_i8 a[0:3], v[0:1], v[2:3], a[0:3]",
                            "v_dot4_i32_i8 v0, v1, v2, v0",
                            "v_dot4c_i32_i8 v0, v1, v2",
                            "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7] neg_lo:[1,1,0]",
                            "v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5"})
    EXPECT_EQ(rule_of(clean), "") << clean;
}

TEST(AuditAmd, CatchesMixedPrecisionHalvesAndDotProducts) {
  EXPECT_EQ(rule_of("v_fma_mixlo_f16 v0, v1, v2, v3"), "mixed precision");
  EXPECT_EQ(rule_of("v_fma_mix_f32 v0, v1, v2, v3 op_sel_hi:[1,0,0]"), "mixed precision");
  EXPECT_EQ(rule_of("v_mad_mix_f32 v0, v1, v2, v3"), "mixed precision");
  EXPECT_EQ(rule_of("v_dot2_f32_f16 v0, v1, v2, v3"), "dot product");
  EXPECT_EQ(rule_of("v_dot2c_f32_f16_e32 v0, v1, v2"), "dot product");
  EXPECT_EQ(rule_of("v_dot4_i32_i8 v0, v1, v2, v0 clamp"), "dot product");
  EXPECT_EQ(rule_of("v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7] neg_lo:[1,1,0] clamp"), "matrix unit");
  EXPECT_EQ(rule_of("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]"), "matrix unit");
  EXPECT_EQ(rule_of("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"), "matrix unit");
  for (const char* bad : {"v_add_f16_e32 v0, v1, v2", "v_fma_f16 v0, v1, v2, v3", "v_pk_fma_f16 v0, v1, v2, v3",
                          "v_mul_f16_e32 v0, v1, v2", "v_pk_add_bf16 v0, v1, v2", "v_rcp_f16_e32 v0, v1",
                          "s_add_f16 s0, s1, s2", "v_dual_mov_b32 v0, 0 :: v_dual_add_f16 v1, v2, v3"})
    EXPECT_EQ(rule_of(bad), "half arithmetic") << bad;
}

TEST(AuditAmd, CatchesArithmeticThatIsNotIeee) {
  EXPECT_EQ(rule_of("v_mad_f32 v0, v1, v2, v3"), "unfused multiply-add");
  EXPECT_EQ(rule_of("v_mac_f32_e32 v0, v1, v2"), "unfused multiply-add");
  EXPECT_EQ(rule_of("v_madak_f32 v0, v1, v2, 0x40400000"), "unfused multiply-add");
  EXPECT_EQ(rule_of("v_madmk_f32 v0, v1, 0x40400000, v2"), "unfused multiply-add");
  EXPECT_EQ(rule_of("v_mul_legacy_f32_e32 v0, v1, v2"), "not IEEE arithmetic");
  EXPECT_EQ(rule_of("v_fma_dx9_zero_f32 v0, v1, v2, v3"), "not IEEE arithmetic");
  EXPECT_EQ(rule_of("v_cvt_pkrtz_f16_f32_e32 v0, v1, v2"), "rounding");
  EXPECT_EQ(rule_of("v_cvt_pk_rtz_f16_f32_e32 v0, v1, v2"), "rounding");
  EXPECT_EQ(rule_of("v_add_f32_e64 v0, v1, v2 mul:2"), "output modifier");
  EXPECT_EQ(rule_of("s_denorm_mode 0"), "change of the floating-point mode");
  EXPECT_EQ(rule_of("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0"), "change of the floating-point mode");
  EXPECT_EQ(rule_of("s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 4, 2), s0"), "change of the floating-point mode");
}

TEST(AuditAmd, CatchesApproximations) {
  for (const char* bad : {"v_exp_f32_e32 v0, v1", "v_log_f32_e32 v0, v1", "v_sin_f32_e32 v0, v1",
                          "v_cos_f32_e32 v0, v1", "v_s_exp_f32 s0, s1", "v_rcp_f32_e32 v0, v1", "v_rsq_f32_e32 v0, v1",
                          "v_sqrt_f32_e32 v0, v1", "v_s_sqrt_f32 s0, s1", "v_s_rcp_f32 s0, s1",
                          "v_rcp_f64_e32 v[0:1], v[2:3]", "v_rsq_f64_e32 v[0:1], v[2:3]", "v_rcp_iflag_f32_e32 v0, v1"})
    EXPECT_EQ(rule_of(bad), "approximation") << bad;
}

const std::string kDivision =
    "v_div_scale_f32 v2, s[2:3], s5, s5, v1\nv_rcp_f32_e32 v3, v2\nv_fma_f32 v5, -v2, v3, 1.0\n"
    "v_fmac_f32_e32 v3, v5, v3\nv_div_fmas_f32 v2, v2, v3, v5\n";

TEST(AuditAmd, DivisionIsAReciprocalThatIsFinished) {
  EXPECT_EQ(rule_of(kDivision + "v_div_fixup_f32 v1, v2, s5, v1"), "");
  EXPECT_EQ(rule_of(kDivision), "unfinished division");
  EXPECT_EQ(rule_of(kDivision + "v_div_fixup_f32 v1, v2, s5, v1\nv_rcp_f32_e32 v3, v9"), "approximation");
  EXPECT_EQ(rule_of(kDivision + "v_div_fixup_f32 v1, v2, s5, v1\nv_mov_b32_e32 v2, v7\nv_rcp_f32_e32 v3, v2"),
            "approximation");
}

TEST(AuditAmd, SquareRootIsCorrected) {
  const std::string root = "v_sqrt_f32_e32 v1, v0\nv_add_u32_e32 v4, -1, v1\n";
  const std::string up = "v_add_u32_e32 v5, 1, v1\n", tried = "v_fma_f32 v6, -v4, v1, v0\n",
                    again = "v_fma_f32 v7, -v5, v1, v0\n";
  EXPECT_EQ(rule_of(root + up + tried + again), "");
  EXPECT_EQ(rule_of(root + tried + again), "approximation");
  EXPECT_EQ(rule_of(root + up + tried), "approximation");
  EXPECT_EQ(rule_of(root + up + "v_mov_b32_e32 v1, v9\n" + tried + again), "approximation");  // of another value
  EXPECT_EQ(rule_of("v_s_sqrt_f32 s4, s3\ns_mov_b32 s6, s3\ns_add_co_i32 s5, s4, -1\ns_xor_b32 s7, s5, 0x80000000\n"
                    "s_fmac_f32 s6, s7, s4\ns_mov_b32 s7, s3\ns_add_co_i32 s6, s4, 1\ns_xor_b32 s8, s6, 0x80000000\n"
                    "s_fmac_f32 s7, s8, s4"),
            "");
}

TEST(AuditAmd, IntegerDivisionMayUseAReciprocal) {
  EXPECT_EQ(rule_of("v_rcp_iflag_f32_e32 v3, v3\nv_mul_f32_e32 v3, 0x4f7ffffe, v3"), "");
  EXPECT_EQ(rule_of("v_rcp_iflag_f32_e32 v0, s3\nv_readfirstlane_b32 s4, v0\ns_mul_f32 s4, s4, 0x4f7ffffe"), "");
  EXPECT_EQ(
      rule_of(
          "v_rcp_iflag_f32_e32 v3, v1\nv_mul_f32_e32 v3, v2, v3\nv_trunc_f32_e32 v3, v3\nv_mad_f32 v2, -v3, v1, v2"),
      "");
  EXPECT_EQ(rule_of("v_madmk_f32 v4, v5, 0x4f800000, v4\nv_rcp_f32_e32 v4, v4\nv_mul_f32_e32 v4, 0x5f7ffffc, v4\n"
                    "v_mul_f32_e32 v5, 0x2f800000, v4\nv_trunc_f32_e32 v5, v5\nv_madmk_f32 v4, v5, 0xcf800000, v4"),
            "");
  EXPECT_EQ(rule_of("s_mov_b32 s7, 0x4f7ffffe\nv_rcp_iflag_f32_e32 v3, v3\nv_mul_f32_e32 v3, s7, v3"), "");
  EXPECT_EQ(rule_of("v_rcp_iflag_f32_e32 v3, v3\nv_mul_f32_e32 v3, v2, v3"), "approximation");
}

TEST(AuditAmd, CatchesAtomics) {
  for (const char* bad :
       {"global_atomic_add_f32 v0, v1, s[0:1]", "global_atomic_pk_add_f16 v0, v1, s[0:1]", "ds_add_f32 v0, v1",
        "ds_add_rtn_f32 v0, v1, v2", "ds_max_f32 v0, v1", "flat_atomic_fmin v[0:1], v2",
        "global_atomic_add_f64 v0, v[2:3], s[0:1]", "ds_pk_add_bf16 v0, v1"})
    for (const bool allowed : {false, true}) EXPECT_EQ(rule_of(bad, allowed), "float atomic") << bad;
  for (const char* integer : {"global_atomic_add v0, v1, s[0:1]", "global_atomic_add_u32 v0, v1, s[0:1]",
                              "global_atomic_smin v0, v1, s[0:1]", "global_atomic_min_i64 v0, v[2:3], s[0:1]",
                              "ds_max_u32 v0, v1", "ds_inc_u32 v0, v1", "flat_atomic_umax_x2 v[0:1], v[2:3]"}) {
    EXPECT_EQ(rule_of(integer), "atomic") << integer;
    EXPECT_EQ(rule_of(integer, true), "") << integer;
    EXPECT_EQ(rule_of(integer, false, "index_check"), "") << integer;
  }
  EXPECT_EQ(rule_of("global_atomic_cmpswap v0, v1, v[2:3], s[0:1] glc", true),
            "atomic whose result depends on the order");
  EXPECT_EQ(rule_of("ds_wrxchg_rtn_b32 v0, v1, v2", true), "atomic whose result depends on the order");
}

TEST(AuditAmd, DemandsTheFloatingPointModeInEveryDescriptor) {
  const std::string modes = kModes;
  const auto rule = [&](std::size_t line, char digit) {
    std::string changed = modes;
    std::size_t at = 0;
    for (std::size_t i = 0; i <= line; ++i) at = changed.find('\n', at + 1);
    changed[at - 1] = digit;
    const auto findings = audit_amd(amd("", "k", changed), false).findings;
    return findings.size() == 1 ? findings[0].rule : "";
  };
  EXPECT_EQ(rule(0, '3'), "floating-point mode");
  EXPECT_EQ(rule(1, '1'), "floating-point mode");
  EXPECT_EQ(rule(2, '0'), "floating-point mode");
  EXPECT_EQ(rule(3, '0'), "floating-point mode");
  EXPECT_EQ(audit_amd(amd("", "k", ""), false).findings.size(), 4u);  // missing is not good
  EXPECT_EQ(audit_amd(amd("", "k", modes + "\t\t.amdhsa_fp16_overflow 1\n"), false).findings.size(), 1u);
  std::string empty = amd("");
  empty.erase(empty.find("k:"), empty.find("\t.section") - empty.find("k:"));
  EXPECT_EQ(audit_amd(empty, false).findings.at(0).rule, "no code");
}

}  // namespace
}  // namespace tokitai::compiler::testing

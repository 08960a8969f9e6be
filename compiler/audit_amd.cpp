// AMD assembly. Division and square root have no instruction of their own: the compiler builds them from an
// approximation and fmas that correct it, and integer division from a reciprocal and integer corrections. So an
// approximation is followed through its registers, and allowed where it feeds one of those expansions.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "compiler/amd_text.h"
#include "compiler/audit_text.h"

namespace tokitai::compiler {
namespace {

using Names = std::initializer_list<std::string_view>;

bool begins(std::string_view name, Names prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}
bool contains(std::string_view name, Names parts) {
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return name.find(part) != std::string_view::npos; });
}
bool is_fma(std::string_view name) { return contains(name, {"_fma_f32", "_fmac_f32", "_fmamk_f32", "_fmaak_f32"}); }
bool is_copy(std::string_view name) { return begins(name, {"v_mov_b32", "s_mov_b32", "v_readfirstlane_b32"}); }

// Calls `visit` for each instruction after `at` that reads the value made there, copies followed, until it is
// overwritten.
template <class F> void for_each_reader(const AmdFunction& f, std::size_t at, F&& visit) {
  std::vector<Register> holders{f.code[at].destination()};
  for (std::size_t i = at + 1; i < f.code.size() && !holders.empty(); ++i) {
    const AmdInstruction& one = f.code[i];
    const bool reads = std::any_of(holders.begin(), holders.end(), [&](Register r) { return one.reads(r); });
    if (reads) visit(i);
    std::erase_if(holders, [&](Register r) { return one.writes(r); });
    if (reads && is_copy(one.name)) holders.push_back(one.destination());
  }
}

// A constant, in the instruction or in a register that was set to it.
bool has_constant(const AmdFunction& f, std::size_t at, std::string_view constant) {
  if (f.code[at].has_literal(constant)) return true;
  for (std::size_t operand = 1; operand < f.code[at].operands.size(); ++operand) {
    const AmdInstruction* writer = f.writer(at, f.code[at].register_of(operand));
    if (writer != nullptr && is_copy(writer->name) && writer->has_literal(constant)) return true;
  }
  return false;
}

// a / b: the reciprocal of a denominator that v_div_scale has scaled.
bool divides(const AmdFunction& f, std::size_t at) {
  const AmdInstruction* writer = f.writer(at, f.code[at].register_of(1));
  return writer != nullptr && writer->name.starts_with("v_div_scale_f");
}

// Integer division of 32 or 64 bits multiplies the reciprocal by just under 2^32 or 2^64; of 24 bits, truncates the
// product. What follows is exact in integers.
bool divides_integers(const AmdFunction& f, std::size_t at) {
  bool found = false;
  for_each_reader(f, at, [&](std::size_t reader) {
    if (!begins(f.code[reader].name, {"v_mul_f32", "s_mul_f32"})) return;
    found |= has_constant(f, reader, "0x4f7ffffe") || has_constant(f, reader, "0x5f7ffffc");
    if (f.code[at].name == "v_rcp_iflag_f32")
      for_each_reader(f, reader, [&](std::size_t next) { found |= contains(f.code[next].name, {"_trunc_f32"}); });
  });
  return found;
}

// sqrt: the approximation's two neighbours are made by adding -1 and 1 to its bits, and each is tried with an fma.
bool roots(const AmdFunction& f, std::size_t at) {
  bool below = false, above = false;
  int tried = 0;
  for_each_reader(f, at, [&](std::size_t reader) {
    const AmdInstruction& one = f.code[reader];
    const bool adds =
        begins(one.name, {"v_add_u32", "v_add_nc_u32", "v_add_co", "s_add_i32", "s_add_co_i32", "s_add_u32"});
    below |= adds && one.has_literal("-1");
    above |= adds && one.has_literal("1");
    tried += is_fma(one.name) ? 1 : 0;
  });
  return below && above && tried >= 2;
}

// In binary64 the square root is five fmas over the reciprocal root.
bool roots_double(const AmdFunction& f, std::size_t at) {
  const std::size_t end = std::min(at + 64, f.code.size());
  const auto fmas =
      std::count_if(f.code.begin() + static_cast<std::ptrdiff_t>(at), f.code.begin() + static_cast<std::ptrdiff_t>(end),
                    [](const AmdInstruction& one) { return contains(one.name, {"_fma_f64", "_fmac_f64"}); });
  return fmas >= 5;
}

// gfx90a still has the multiply-add that rounds twice and flushes, and integer division uses it, on integers that it
// takes exactly: with 2^32, or with a truncated quotient.
bool unfused_in_integer_division(const AmdFunction& f, std::size_t at) {
  if (has_constant(f, at, "0x4f800000") || has_constant(f, at, "0xcf800000")) return true;
  for (std::size_t operand = 1; operand < f.code[at].operands.size(); ++operand) {
    const AmdInstruction* writer = f.writer(at, f.code[at].register_of(operand));
    if (writer != nullptr && writer->name == "v_trunc_f32") return true;
  }
  return false;
}

std::string_view rule_for_atomic(std::string_view name, bool allowed) {
  if (contains(name, {"_f16", "_bf16", "_f32", "_f64", "_fmin", "_fmax", "_fcmpswap"})) return "float atomic";
  if (!allowed) return "atomic";
  const bool fixed = contains(name, {"_add", "_inc", "min", "max"});
  return fixed ? "" : "atomic whose result depends on the order";
}

bool is_atomic(std::string_view name) {
  if (name.starts_with("ds_"))
    return begins(name,
                  {"ds_add",  "ds_sub",      "ds_rsub",   "ds_inc",    "ds_dec",     "ds_min",      "ds_max",
                   "ds_and",  "ds_or",       "ds_xor",    "ds_mskor",  "ds_cmpst",   "ds_wrxchg",   "ds_storexchg",
                   "ds_wrap", "ds_condxchg", "ds_pk_add", "ds_append", "ds_consume", "ds_cond_sub", "ds_clamp_sub"});
  return name.find("_atomic_") != std::string_view::npos;
}

// What f16 and bf16 may be in: conversions, comparisons, moves, and choices that return an operand.
bool is_exact_on_halves(std::string_view name) {
  return begins(name, {"v_cvt_", "s_cvt_", "v_cmp", "s_cmp", "v_pack_", "v_max", "v_min", "s_max", "s_min", "v_pk_max",
                       "v_pk_min", "v_med3", "v_frexp", "global_", "flat_", "buffer_", "ds_", "scratch_"});
}

std::string_view rule_for_root_or_reciprocal(const AmdFunction& f, std::size_t at) {
  const std::string_view name = f.code[at].name;
  bool good = false;
  if (contains(name, {"_rcp_f32", "_rcp_iflag_f32"})) good = divides(f, at) || divides_integers(f, at);
  if (contains(name, {"_rcp_f64"})) good = divides(f, at);
  if (contains(name, {"_sqrt_f32"})) good = roots(f, at);
  if (contains(name, {"_rsq_f64"})) good = roots_double(f, at);
  return good ? "" : "approximation";
}

std::string_view rule_for(const AmdFunction& f, std::size_t at, bool atomics) {
  const AmdInstruction& one = f.code[at];
  const std::string_view name = one.name;
  if (is_atomic(name)) return rule_for_atomic(name, atomics);
  if (contains(name, {"fma_mix", "mad_mix"})) return "mixed precision";
  // Of integers they are exact, unless they are held to the largest one.
  if (name.starts_with("v_dot") && (contains(name, {"_f16", "_bf16", "_f32"}) || contains(one.line, {" clamp"})))
    return "dot product";
  if (begins(name, {"v_mfma_f", "v_smfmac_f", "v_wmma_f", "v_wmma_bf", "v_swmmac_f", "v_swmmac_bf"}) ||
      (name.starts_with("v_wmma_i") && contains(one.line, {" clamp"})))
    return "matrix unit";
  if (contains(name, {"_cvt_pkrtz", "_cvt_pk_rtz", "_cvt_sr_", "_cvt_scalef32_sr"})) return "rounding";
  if (contains(name, {"_f16", "_bf16"}) && !is_exact_on_halves(name)) return "half arithmetic";
  if (contains(name, {"_legacy_", "_dx9_zero_"})) return "not IEEE arithmetic";
  if (begins(name, {"v_mad_f32", "v_mac_f32", "v_madak_f32", "v_madmk_f32"}))
    return unfused_in_integer_division(f, at) ? "" : "unfused multiply-add";
  if (begins(name, {"v_exp_", "v_log_", "v_sin_", "v_cos_", "v_tanh_", "v_s_exp_", "v_s_log_"})) return "approximation";
  if (begins(name, {"v_rcp_", "v_rsq_", "v_sqrt_", "v_s_rcp_", "v_s_rsq_", "v_s_sqrt_"}))
    return rule_for_root_or_reciprocal(f, at);
  if (begins(name, {"s_denorm_mode", "s_round_mode"})) return "change of the floating-point mode";
  if (name.starts_with("s_setreg") && contains(one.line, {"HW_REG_MODE", "HW_REG_WAVE_MODE"}))
    return "change of the floating-point mode";
  if (begins(name, {"v_", "s_"}) && contains(one.line, {" mul:2", " mul:4", " div:2"})) return "output modifier";
  return "";
}

void audit_function(const AmdFunction& f, bool integer_atomics, std::vector<Finding>& findings) {
  const bool atomics = allows_atomics(f.name, integer_atomics);
  std::ptrdiff_t divisions = 0, fixups = 0;
  for (std::size_t at = 0; at < f.code.size(); ++at) {
    const std::string& name = f.code[at].name;
    if (begins(name, {"v_rcp_f32", "v_s_rcp_f32", "v_rcp_f64"}) && divides(f, at)) ++divisions;
    if (name.starts_with("v_div_fixup_f")) ++fixups;
    const std::string_view rule = rule_for(f, at, atomics);
    if (!rule.empty()) findings.push_back({f.name, std::string(rule), std::string(f.code[at].line)});
  }
  if (fixups < divisions)
    findings.push_back(
        {f.name, "unfinished division", fmt::format("{} scaled reciprocals, {} v_div_fixup", divisions, fixups)});
}

}  // namespace

TextAudit audit_amd(std::string_view text, bool integer_atomics) {
  TextAudit out;
  const AmdText read = read_amd_text(text);
  for (const AmdFunction& function : read.functions) audit_function(function, integer_atomics, out.findings);
  for (const auto& [kernel, descriptor] : read.kernels) {
    out.kernels.push_back(kernel);
    // The assembler's own default for binary32 is to flush, so that what is not said is not good.
    for (const auto& [directive, wanted] :
         {std::pair{".amdhsa_float_round_mode_32", "0"}, std::pair{".amdhsa_float_round_mode_16_64", "0"},
          std::pair{".amdhsa_float_denorm_mode_32", "3"}, std::pair{".amdhsa_float_denorm_mode_16_64", "3"}}) {
      const auto at = descriptor.find(directive);
      if (at == descriptor.end() || at->second != wanted)
        out.findings.push_back({kernel, "floating-point mode",
                                fmt::format("{} {}", directive, at == descriptor.end() ? "is missing" : at->second)});
    }
    const auto overflow = descriptor.find(".amdhsa_fp16_overflow");
    if (overflow != descriptor.end() && overflow->second != "0")
      out.findings.push_back({kernel, "floating-point mode", ".amdhsa_fp16_overflow " + overflow->second});
    // A kernel whose code was not found was not audited.
    if (std::none_of(read.functions.begin(), read.functions.end(),
                     [&name = kernel](const AmdFunction& f) { return f.name == name && !f.code.empty(); }))
      out.findings.push_back({kernel, "no code", "the text holds no instructions of this kernel"});
  }
  return out;
}

}  // namespace tokitai::compiler

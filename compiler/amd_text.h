// AMD assembly, read: functions, their instructions, which registers each reads and writes, kernel descriptors.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tokitai::compiler {

// A register of 32 bits: the kind and the number, v12 or s3.
struct Register {
  char kind = 'v';
  int number = 0;
  bool operator==(const Register&) const = default;
};

struct AmdInstruction {
  std::string name;  // without the encoding: v_rcp_f32 for v_rcp_f32_e32; v_fmac_f32 for v_dual_fmac_f32
  std::vector<std::string_view> operands;
  std::string_view line;

  bool writes(Register r) const;
  bool reads(Register r) const;
  // The first register of an operand; number -1 where it is none.
  Register destination() const { return register_of(0); }
  Register register_of(std::size_t operand) const;
  bool has_literal(std::string_view text) const;
};

struct AmdFunction {
  std::string name;
  std::vector<AmdInstruction> code;

  // The last instruction before `at` that writes the register, or null.
  const AmdInstruction* writer(std::size_t at, Register r) const;
};

struct AmdText {
  std::vector<AmdFunction> functions;
  // For each kernel, its descriptor: ".amdhsa_float_round_mode_32" -> "0".
  std::vector<std::pair<std::string, std::map<std::string, std::string, std::less<>>>> kernels;
};

// Views into `text`.
AmdText read_amd_text(std::string_view text);

}  // namespace tokitai::compiler

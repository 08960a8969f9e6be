#include "compiler/amd_text.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/lines.h"

namespace tokitai::compiler {
namespace {

constexpr Register kNone{'?', -1};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Range {
  Register first = kNone;
  int count = 0;
  bool holds(Register r) const {
    return r.kind == first.kind && r.number >= first.number && r.number < first.number + count;
  }
};

// "-v3", "|s5|", "v[2:3] offset:16".
Range range_of(std::string_view operand) {
  operand.remove_prefix(std::min(operand.find_first_not_of("-|"), operand.size()));
  for (const std::string_view call : {"neg(", "abs("})
    if (operand.starts_with(call)) operand.remove_prefix(call.size());
  if (operand.size() < 2 || (operand[0] != 'v' && operand[0] != 's' && operand[0] != 'a')) return {};
  const char* end = operand.data() + operand.size();
  int first = 0, last = 0;
  if (is_digit(operand[1])) {
    std::from_chars(operand.data() + 1, end, first);
    return {{operand[0], first}, 1};
  }
  if (operand[1] != '[') return {};
  const auto [colon, error] = std::from_chars(operand.data() + 2, end, first);
  if (error != std::errc() || colon == end) return {};
  last = first;
  if (*colon == ':') std::from_chars(colon + 1, end, last);
  return {{operand[0], first}, last - first + 1};
}

bool has_destination(std::string_view name) {
  for (const std::string_view prefix :
       {"global_store", "flat_store", "buffer_store", "scratch_store", "ds_write",  "ds_store", "s_store", "s_cmp_",
        "s_bitcmp",     "s_wait",     "s_branch",     "s_cbranch",     "s_barrier", "s_nop",    "s_end",   "s_delay",
        "s_clause",     "s_send",     "s_set",        "s_denorm",      "s_round",   "v_cmpx",   "exp"})
    if (name.starts_with(prefix)) return false;
  return true;
}

std::string bare_name(std::string_view name) {
  std::string out(name);
  if (out.starts_with("v_dual_")) out.erase(2, 5);
  for (const std::string_view suffix : {"_dpp", "_sdwa", "_e32", "_e64"})
    if (out.ends_with(suffix)) out.erase(out.size() - suffix.size());
  return out.ends_with("_e64") ? out.substr(0, out.size() - 4) : out;  // _e64_dpp
}

AmdInstruction read_instruction(std::string_view text, std::string_view line) {
  AmdInstruction out;
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  out.name = bare_name(text.substr(0, end));
  out.line = line;
  std::string_view rest = text.substr(end);
  while (!base::trimmed(rest).empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    out.operands.push_back(base::trimmed(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return out;
}

}  // namespace

bool AmdInstruction::writes(Register r) const {
  return has_destination(name) && !operands.empty() && range_of(operands[0]).holds(r);
}

bool AmdInstruction::reads(Register r) const {
  const bool adds_to_destination = name.find("fmac") != std::string::npos || name.find("_mac_") != std::string::npos;
  const std::size_t first = has_destination(name) && !adds_to_destination ? 1 : 0;
  for (std::size_t i = first; i < operands.size(); ++i)
    if (range_of(operands[i]).holds(r)) return true;
  return false;
}

Register AmdInstruction::register_of(std::size_t operand) const {
  return operand < operands.size() ? range_of(operands[operand]).first : kNone;
}

bool AmdInstruction::has_literal(std::string_view text) const {
  return std::any_of(operands.begin(), operands.end(), [&](std::string_view operand) {
    return operand == text || (operand.starts_with(text) && operand[text.size()] == ' ');
  });
}

const AmdInstruction* AmdFunction::writer(std::size_t at, Register r) const {
  while (at-- > 0)
    if (code[at].writes(r)) return &code[at];
  return nullptr;
}

AmdText read_amd_text(std::string_view text) {
  AmdText out;
  std::set<std::string_view> functions;
  bool inside = false, descriptor = false;
  base::for_each_line(text, [&](std::string_view whole) {
    const std::string_view line = base::trimmed(whole.substr(0, std::min(whole.find(';'), whole.size())));
    if (line.empty() || line.starts_with("//")) return;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word = line.substr(0, end), value = base::trimmed(line.substr(end));
    if (word == ".type" && value.ends_with("@function")) functions.insert(value.substr(0, value.find(',')));
    if (word == ".amdhsa_kernel") {
      out.kernels.push_back({std::string(value), {}});
      descriptor = true;
    }
    if (word == ".end_amdhsa_kernel") descriptor = false;
    if (descriptor) out.kernels.back().second.emplace(word, value);
    if (word.ends_with(':')) {
      const std::string_view label = word.substr(0, word.size() - 1);
      if (functions.contains(label)) {
        out.functions.push_back({std::string(label), {}});
        inside = true;
      } else if (label.starts_with(".Lfunc_end")) {
        inside = false;
      }
      return;
    }
    if (!inside || word.starts_with('.')) return;
    // Two instructions that are issued together are joined by "::".
    const std::size_t both = line.find(" :: ");
    out.functions.back().code.push_back(read_instruction(line.substr(0, both), line));
    if (both != std::string_view::npos)
      out.functions.back().code.push_back(read_instruction(line.substr(both + 4), line));
  });
  return out;
}

}  // namespace tokitai::compiler

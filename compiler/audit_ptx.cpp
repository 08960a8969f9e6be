// PTX. An instruction's name is its operation and its modifiers, joined by points: fma.rn.f32. The assembler may
// contract add.f32 and mul.f32 into an fma, but never the .rn forms, so those are demanded.
#include <algorithm>
#include <initializer_list>

#include "base/lines.h"
#include "compiler/audit_text.h"

namespace tokitai::compiler {
namespace {

using Parts = std::vector<std::string_view>;

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_half(std::string_view type) {
  return type.starts_with("f16") || type.starts_with("bf16") || type.starts_with("e4m3") || type.starts_with("e5m2");
}
bool is_float(std::string_view type) { return is_half(type) || one_of(type, {"f32", "f64", "f32x2", "tf32"}); }

struct Instruction {
  Parts parts;
  std::string_view operation() const { return parts[0]; }
  bool has(std::string_view modifier) const {
    return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end();
  }
  bool any(bool (*is)(std::string_view)) const { return std::any_of(parts.begin() + 1, parts.end(), is); }
  int floats() const { return static_cast<int>(std::count_if(parts.begin() + 1, parts.end(), is_float)); }
};

// The broken rule, or nothing.
std::string_view rule_for_atomic(const Instruction& i, bool allowed) {
  if (i.any(is_float)) return "float atomic";
  if (!allowed) return "atomic";
  const bool fixed = i.has("add") || i.has("inc") || i.has("min") || i.has("max");
  return fixed ? "" : "atomic whose result depends on the order";
}

// Sums in binary32 of products of halves, on Hopper's tensor cores: an arithmetic of ours, where it was asked for.
// (Sparse ones add 32 at a time, whose rule nobody has found.)
bool is_hopper_sum(const Instruction& i) {
  return i.operation() == "wgmma" && !i.has("sp") && i.has("f32") && (i.has("f16") != i.has("bf16")) && i.floats() == 3;
}

std::string_view rule_for(const Instruction& i, bool atomics, bool hopper_sums) {
  const std::string_view operation = i.operation();
  if (i.has("ftz")) return "flush to zero";
  if (i.has("approx") || (operation == "div" && i.has("full"))) return "approximation";
  if (one_of(operation, {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"})) return "approximation";
  if (one_of(operation, {"atom", "red", "multimem"}) || (operation == "cp" && i.has("reduce")))
    return rule_for_atomic(i, atomics);
  if (one_of(operation, {"mma", "wmma", "wgmma", "tcgen05"}) && i.any(is_float))
    return hopper_sums && is_hopper_sum(i) ? "" : "tensor core";
  const bool directed = i.has("rz") || i.has("rm") || i.has("rp");
  if (operation == "cvt" && i.floats() >= 2 && (directed || i.has("rna") || i.has("rs"))) return "rounding";
  if (!one_of(operation, {"add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"}) || !i.any(is_float)) return "";
  if (i.any(is_half)) return "half arithmetic";
  if (!i.has("rn")) return "rounding";
  return i.has("sat") ? "saturation" : "";
}

std::string_view word_at(std::string_view text) {
  return text.substr(0, std::min(text.find_first_of(" \t\n\r([,;"), text.size()));
}

// Without the label and the predicate before it: "$L: @!%p1 add.f32 ..." is "add.f32 ...".
std::string_view bare(std::string_view statement) {
  for (;;) {
    statement = base::trimmed(statement);
    const std::string_view word = word_at(statement);
    if (word.empty() || (word.back() != ':' && word.front() != '@')) return statement;
    statement.remove_prefix(word.size());
  }
}

// The text with comments and what is quoted blanked out, so that positions stay.
std::string without_comments(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; at < out.size(); ++at) {
    std::size_t end = at;
    if (out.compare(at, 2, "//") == 0) end = std::min(out.find('\n', at), out.size());
    if (out.compare(at, 2, "/*") == 0) end = std::min(out.find("*/", at + 2), out.size() - 2) + 2;
    if (out[at] == '"') end = std::min(out.find('"', at + 1), out.size() - 1) + 1;
    for (; at < end; ++at)
      if (out[at] != '\n') out[at] = ' ';
  }
  return out;
}

// ".visible .entry name(" or ".func (.param .b32 result) name(".
std::string_view name_after(std::string_view statement, std::string_view directive) {
  statement = base::trimmed(statement.substr(statement.find(directive) + directive.size()));
  if (statement.starts_with('('))
    statement = base::trimmed(statement.substr(std::min(statement.find(')'), statement.size() - 1) + 1));
  return word_at(statement);
}

Parts split(std::string_view name) {
  Parts out;
  for (;;) {
    const std::size_t end = name.find('.');
    std::string_view part = name.substr(0, end);
    // "shared::cta" and "f16::x" are one part each; the type before "::" decides.
    out.push_back(part.substr(0, part.find("::")));
    if (end == std::string_view::npos) return out;
    name.remove_prefix(end + 1);
  }
}

}  // namespace

TextAudit audit_ptx(std::string_view text, bool integer_atomics, bool hopper_sums) {
  TextAudit out;
  const std::string code = without_comments(text);
  std::string function;
  std::string_view rest = code;
  // A line ends a statement too: directives such as .loc have no semicolon, and the lines that a call goes on over
  // do not look like instructions.
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(";{}\n"), rest.size());
    const std::string_view statement = bare(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (statement.find(".entry") != std::string_view::npos) {
      function = name_after(statement, ".entry");
      out.kernels.push_back(function);
    } else if (statement.find(".func") != std::string_view::npos) {
      function = name_after(statement, ".func");
    } else if (!statement.empty() && statement[0] >= 'a' && statement[0] <= 'z') {
      const Instruction instruction{split(word_at(statement))};
      const std::string_view rule = rule_for(instruction, allows_atomics(function, integer_atomics), hopper_sums);
      if (!rule.empty()) out.findings.push_back({function, std::string(rule), std::string(base::trimmed(statement))});
    }
  }
  return out;
}

}  // namespace tokitai::compiler

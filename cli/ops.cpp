// `tokitai ops`: the operators and their contracts, printed from the contracts' own data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/table.h"

namespace tokitai::cli {
namespace {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::in: return "read";
    case Role::out: return "written";
    case Role::in_out: return "in place";
  }
  return "?";
}
std::vector<std::string> types_of(TypeRule rule) {
  switch (rule) {
    case TypeRule::storage: return {"storage"};
    case TypeRule::f32: return {"f32"};
    case TypeRule::storage_or_f32: return {"storage", "f32"};
    case TypeRule::index: return {"i32", "i64"};
    case TypeRule::i64: return {"i64"};
  }
  return {};
}
std::string_view name_of(OptionKind kind) {
  switch (kind) {
    case OptionKind::f32: return "f32";
    case OptionKind::integer: return "integer";
    case OptionKind::flag: return "flag";
  }
  return "?";
}

std::vector<std::string_view> shape_of(const OperandSpec& spec) {
  std::vector<std::string_view> shape;
  for (const std::string_view symbol : spec.shape)
    if (!symbol.empty()) shape.push_back(symbol);
  return shape;
}
std::string type_text(const OperandSpec& spec) {
  std::vector<std::string> types = types_of(spec.type);
  if (spec.single_by_default) std::reverse(types.begin(), types.end());  // the first is what run writes unasked
  return fmt::format("{}", fmt::join(types, " or "));
}
std::string value_text(const OptionSpec& spec, const Option& option) {
  if (!option.set) return "-";
  return spec.kind == OptionKind::f32 ? fmt::format("{}", option.f) : fmt::format("{}", option.i);
}

// Names of what is read or written; one that may be left out stands in parentheses.
std::string names_text(const Contract& contract, bool read) {
  std::vector<std::string> names;
  for (const OperandSpec& spec : contract.operands) {
    const bool sometimes = spec.optional || (read && !spec.read_when.empty());
    if (read ? spec.role == Role::out && spec.read_when.empty() : spec.role == Role::in) continue;
    names.push_back(sometimes ? fmt::format("({})", spec.name) : std::string(spec.name));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string list_text() {
  Table table({"operator", "reads", "writes", "options"});
  for (const Contract* contract : contracts()) {
    std::vector<std::string_view> options;
    for (const OptionSpec& spec : contract->options) options.push_back(spec.name);
    table.add({std::string(contract->name), names_text(*contract, true), names_text(*contract, false),
               fmt::format("{}", fmt::join(options, " "))});
  }
  return table.text() + "\nIn parentheses: may be left out. The whole contract of one: tokitai ops OPERATOR\n";
}

std::string operand_notes(const OperandSpec& spec) {
  std::string notes(spec.text);
  if (spec.optional) notes += "; optional";
  if (!spec.may_alias.empty()) notes += fmt::format("; may be written over {}", spec.may_alias);
  if (!spec.read_when.empty()) notes += fmt::format("; also read with {}", spec.read_when);
  return notes;
}

// One statement of the formula a line.
std::string statements(std::string_view formula) {
  std::string out;
  while (!formula.empty()) {
    const std::size_t end = formula.find("; ");
    out += wrapped(std::string(formula.substr(0, end)), 2);
    formula.remove_prefix(end == std::string_view::npos ? formula.size() : end + 2);
  }
  return out;
}

std::string contract_text(const Contract& contract) {
  std::string out = fmt::format("{}\n{}", contract.name, wrapped(std::string(contract.summary), 2));
  const auto section = [&](std::string_view title, const std::string& body) {
    if (!body.empty()) out += fmt::format("\n{}\n{}", title, body);
  };

  Table operands({"name", "role", "type", "shape", "what it is"});
  for (const OperandSpec& spec : contract.operands)
    operands.add({std::string(spec.name), std::string(name_of(spec.role)), type_text(spec),
                  fmt::format("[{}]", fmt::join(shape_of(spec), ", ")), operand_notes(spec)});
  std::string types = "  storage: f16, bf16 or f32, the same for all operands of a call\n";
  if (contract.list) types += "  A call takes a list of such operands, each set with a length of its own.\n";
  section("Operands", operands.text(2) + types);

  Table options({"name", "default", "range", "what it is"});
  for (const OptionSpec& spec : contract.options)
    options.add({std::string(spec.name), spec.required ? "required" : value_text(spec, spec.fallback),
                 std::string(spec.range), std::string(spec.text)});
  if (!contract.options.empty()) section("Options", options.text(2));

  section("Formula", statements(contract.formula));
  section("Ensures", wrapped(std::string(contract.ensures), 2));
  section("Edge cases", wrapped(std::string(contract.edges), 2));
  section("Does not claim", wrapped(std::string(contract.non_claims), 2));
  std::string limits;
  for (const Limit& limit : contract.limits) limits += fmt::format("  {} <= {}\n", limit.symbol, limit.most);
  section("Limits", limits);
  return out;
}

Json value_json(const OptionSpec& spec, const Option& option) {
  if (!option.set) return nullptr;
  if (spec.kind == OptionKind::f32)
    return Json::parse(fmt::format("{}", option.f));  // 0.001, not 0.0010000000474974513
  return option.i;
}

Json contract_json(const Contract& contract) {
  Json operands = Json::array(), options = Json::array(), limits = Json::object();
  for (const OperandSpec& spec : contract.operands) {
    Json operand = {{"name", spec.name},
                    {"role", name_of(spec.role)},
                    {"types", types_of(spec.type)},
                    {"shape", shape_of(spec)},
                    {"text", spec.text},
                    {"optional", spec.optional},
                    {"f32_by_default", spec.single_by_default}};
    if (!spec.may_alias.empty()) operand["may_alias"] = spec.may_alias;
    if (!spec.read_when.empty()) operand["read_when"] = spec.read_when;
    operands.push_back(std::move(operand));
  }
  for (const OptionSpec& spec : contract.options)
    options.push_back({{"name", spec.name},
                       {"kind", name_of(spec.kind)},
                       {"default", value_json(spec, spec.fallback)},
                       {"range", spec.range},
                       {"text", spec.text},
                       {"required", spec.required}});
  for (const Limit& limit : contract.limits) limits[std::string(limit.symbol)] = limit.most;
  return {{"name", contract.name},
          {"summary", contract.summary},
          {"list", contract.list},
          {"operands", operands},
          {"options", options},
          {"formula", contract.formula},
          {"ensures", contract.ensures},
          {"edges", contract.edges},
          {"non_claims", contract.non_claims},
          {"limits", limits}};
}

Status show(const std::string& name, bool json) {
  if (name.empty()) {
    Json all = Json::array();
    for (const Contract* contract : contracts()) all.push_back(contract_json(*contract));
    if (json)
      print_json(all);
    else
      fmt::print("{}", list_text());
    return {};
  }
  const auto contract = operator_named(name);
  if (!contract.ok()) return contract.status();
  if (json)
    print_json(contract_json(*contract.value()));
  else
    fmt::print("{}", contract_text(*contract.value()));
  return {};
}

}  // namespace

void add_ops(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("ops", "List the operators, or print one's whole contract");
  struct Arguments {
    std::string name;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  command->add_option("OPERATOR", arguments->name, "Print this operator's contract")->type_name("");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->footer("Examples:\n  tokitai ops\n  tokitai ops layernorm.forward\n  tokitai ops --json");
  command->callback([arguments, &exit_code] { report(show(arguments->name, arguments->json), exit_code); });
}

}  // namespace tokitai::cli

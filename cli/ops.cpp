// `tokitai ops`: the operators and their contracts, printed from the contracts' own data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/table.h"
#include "contract/workspace.h"
#include "reports/contract_json.h"
#include "reports/digest.h"

namespace tokitai::cli {
namespace {

// The types as the contract's JSON names them; the first is what run writes unasked.
std::string type_text(const Json& operand) {
  auto types = operand["types"].get<std::vector<std::string>>();
  if (operand["f32_by_default"].get<bool>()) std::reverse(types.begin(), types.end());
  return fmt::format("{}", fmt::join(types, " or "));
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

std::string operand_notes(const Json& operand) {
  std::string notes = operand["text"];
  if (operand["optional"].get<bool>()) notes += "; optional";
  if (operand.contains("may_alias"))
    notes += fmt::format("; may be written over {}", operand["may_alias"].get<std::string>());
  if (operand.contains("with")) notes += fmt::format("; given with {}", operand["with"].get<std::string>());
  if (operand.contains("read_when"))
    notes += fmt::format("; also read with {}", operand["read_when"].get<std::string>());
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

// Sentences, each on lines of its own.
std::string sentences(const Json& list) {
  std::string out;
  for (const Json& sentence : list) out += wrapped(sentence, 2);
  return out;
}

// Printed from the JSON that programs get, so that both say the same.
std::string contract_text(const Contract& contract) {
  const Json json = to_json(contract);
  std::string out = fmt::format("{}\n{}", contract.name, wrapped(std::string(contract.summary), 2));
  const auto section = [&](std::string_view title, const std::string& body) {
    if (!body.empty()) out += fmt::format("\n{}\n{}", title, body);
  };

  Table operands({"name", "role", "type", "shape", "what it is"});
  for (const Json& operand : json["operands"])
    operands.add({operand["name"], operand["role"], type_text(operand),
                  fmt::format("[{}]", fmt::join(operand["shape"].get<std::vector<std::string>>(), ", ")),
                  operand_notes(operand)});
  std::string types = "  storage: f16, bf16 or f32, the same for all operands of a call\n";
  if (contract.list) types += "  A call takes a list of such operands, each set with a shape of its own.\n";
  if (std::any_of(contract.operands.begin(), contract.operands.end(),
                  [&](const OperandSpec& spec) { return contract.has_once(spec); }))
    types += "  Operands of shape [1] it takes once.\n";
  section("Operands", operands.text(2) + types);

  Table options({"name", "default", "range", "what it is"});
  for (const Json& option : json["options"]) {
    const std::string fallback = option["default"].is_null() ? "-" : option["default"].dump();
    options.add(
        {option["name"], option["required"].get<bool>() ? "required" : fallback, option["range"], option["text"]});
  }
  if (!contract.options.empty()) section("Options", options.text(2));

  section("Formula", statements(contract.formula));
  section("Requires", sentences(json["requires"]));
  std::string promises;
  for (const Json& promise : json["ensures"]) {
    const std::string types_text =
        fmt::format("{}", fmt::join(promise["storage_types"].get<std::vector<std::string>>(), ", "));
    promises += wrapped(
        fmt::format("{} ({}): {}", promise["kind"].get<std::string>(), types_text, promise["text"].get<std::string>()),
        2);
  }
  section("Ensures", promises);
  section("Determinism", wrapped(std::string(contract.determinism), 2));
  section("Edge cases", sentences(json["edges"]));
  section("Does not claim", sentences(json["non_claims"]));
  section("Cost",
          fmt::format("  bytes read     {}\n  bytes written  {}\n  operations     {}\n",
                      json["cost"]["bytes_read"].get<std::string>(), json["cost"]["bytes_written"].get<std::string>(),
                      json["cost"]["flops"].get<std::string>()));
  section("Scratch memory on a CPU, in bytes", wrapped(workspace_formula(contract), 2));
  section("Digest of this contract", fmt::format("  sha256 {}\n", evidence::contract_digest(contract)));
  return out;
}

Json contract_json(const Contract& contract) {
  Json json = to_json(contract);
  json["digest"] = {{"sha256", evidence::contract_digest(contract)}};
  return json;
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

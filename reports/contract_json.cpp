#include "reports/contract_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "contract/parse.h"
#include "contract/workspace.h"

namespace tokitai {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(Role role) {
  switch (role) {
    case Role::in: return "read";
    case Role::out: return "written";
    case Role::in_out: return "in place";
  }
  return "?";
}
std::vector<std::string_view> types_of(TypeRule rule) {
  switch (rule) {
    case TypeRule::storage: return {"storage"};
    case TypeRule::f32: return {"f32"};
    case TypeRule::storage_or_f32: return {"storage", "f32"};
    case TypeRule::floating: return {"f16", "bf16", "f32"};
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
    case OptionKind::choice: return "choice";
  }
  return "?";
}

// "x residual" in a sentence: x or residual.
std::string alternatives(std::string_view words) {
  std::string text;
  for (const char c : words) c == ' ' ? text += " or " : text += c;
  return text;
}

Json operand_json(const OperandSpec& spec) {
  Json shape = Json::array();
  for (const std::string_view symbol : spec.shape)
    if (!symbol.empty()) shape.push_back(symbol);
  Json operand = {{"name", spec.name},
                  {"role", name_of(spec.role)},
                  {"types", types_of(spec.type)},
                  {"shape", shape},
                  {"text", spec.text},
                  {"optional", spec.optional},
                  {"f32_by_default", spec.single_by_default}};
  if (!spec.may_alias.empty()) operand["may_alias"] = alternatives(spec.may_alias);
  if (!spec.with.empty()) operand["with"] = spec.with;
  if (!spec.saved_as.empty()) operand["saved_as"] = spec.saved_as;
  if (!spec.read_when.empty()) operand["read_when"] = spec.read_when;
  return operand;
}

Json fallback_json(const OptionSpec& spec) {
  if (!spec.fallback.set) return nullptr;
  if (spec.kind == OptionKind::choice) return text_of(spec, spec.fallback);
  if (spec.kind != OptionKind::f32) return spec.fallback.i;
  return Json::parse(fmt::format("{}", spec.fallback.f));  // 0.001, not 0.0010000000474974513
}
Json option_json(const OptionSpec& spec) {
  Json option = {{"name", spec.name},       {"kind", name_of(spec.kind)}, {"default", fallback_json(spec)},
                 {"range", range_of(spec)}, {"text", spec.text},          {"required", spec.required}};
  if (!spec.choices.empty()) option["choices"] = spec.choices;
  return option;
}

Json promise_json(const Promise& promise) {
  Json types = Json::array({"f16", "bf16", "f32"});
  if (!promise.types.empty())
    std::erase_if(types.get_ref<Json::array_t&>(), [&](const Json& type) {
      return fmt::format(" {} ", promise.types).find(fmt::format(" {} ", type.get<std::string>())) == std::string::npos;
    });
  return {{"kind", name_of(promise.kind)},
          {"text", promise.text},
          {"storage_types", types},
          {"evidence", evidence_for(promise.kind)}};
}

}  // namespace

std::vector<std::string> requirements(const Contract& contract) {
  std::vector<std::string> all;
  std::vector<std::string_view> given;
  for (const OperandSpec& spec : contract.operands)
    if (!spec.optional) given.push_back(spec.name);
  all.push_back(fmt::format("{} are given, with the types and shapes of the table", fmt::join(given, ", ")));
  all.emplace_back("operands of storage type have one type: f16, bf16 or f32");
  all.emplace_back(!contract.list          ? "each shape symbol has one value throughout, of at least 1"
                   : contract.may_be_empty ? "the list holds at least one tensor; none needs to have elements"
                                           : "the list holds at least one tensor, and one of them has elements");
  all.emplace_back(contract.list ? "the operands of a tensor have one shape, of one to four dimensions and without gaps"
                                 : "rows are contiguous, and no stride is shorter than a row");
  if (std::any_of(contract.operands.begin(), contract.operands.end(),
                  [](const OperandSpec& spec) { return spec.rank() > 2; }))
    all.emplace_back(contract.any_strides ? "the strides of an operand keep its elements apart"
                                          : "the rows of an operand are all one stride apart");
  std::string overlap = "what is written overlaps nothing else that is read or written";
  for (const OperandSpec& spec : contract.operands)
    if (!spec.may_alias.empty())
      overlap += fmt::format("; {} may be {} itself", spec.name, alternatives(spec.may_alias));
  all.push_back(overlap);
  for (const OperandSpec& spec : contract.operands)
    if (!spec.with.empty())
      all.push_back(fmt::format("{0} is given where {1} is, and has the type of {1}", spec.name, spec.with));
  for (const Limit& limit : contract.limits) all.push_back(fmt::format("{} <= {}", limit.symbol, limit.most));
  for (const OptionSpec& spec : contract.options)
    all.push_back(fmt::format("{}: {}{}", spec.name, spec.required ? "required, " : "", range_of(spec)));
  for (const std::string_view condition : contract.conditions) all.emplace_back(condition);
  return all;
}

nlohmann::ordered_json to_json(const Contract& contract) {
  Json operands = Json::array(), options = Json::array(), promises = Json::array(), limits = Json::object();
  for (const OperandSpec& spec : contract.operands) operands.push_back(operand_json(spec));
  for (const OptionSpec& spec : contract.options) options.push_back(option_json(spec));
  for (const Promise& promise : contract.ensures) promises.push_back(promise_json(promise));
  for (const Limit& limit : contract.limits) limits[std::string(limit.symbol)] = limit.most;
  const CostFormulas cost = cost_formulas(contract);
  Json determinism = {{"text", contract.determinism}, {"cut_along", contract.batch}};
  if (!contract.whole_when.empty()) determinism["whole_when"] = contract.whole_when;
  return {{"name", contract.name},
          {"summary", contract.summary},
          {"list", contract.list},
          {"operands", operands},
          {"options", options},
          {"formula", contract.formula},
          {"requires", requirements(contract)},
          {"ensures", promises},
          {"determinism", determinism},
          {"edges", contract.edges},
          {"cost", {{"bytes_read", cost.bytes_read}, {"bytes_written", cost.bytes_written}, {"flops", cost.flops}}},
          {"workspace_bytes", workspace_formula(contract)},
          {"non_claims", contract.non_claims},
          {"limits", limits}};
}

std::string canonical(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tokitai

#include "loader/load_operators.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/parse.h"
#include "contract/ways.h"
#include "loader/folder.h"
#include "loader/hand_over.h"

namespace tokitai {
namespace {

using loader::Folder;
using loader::Parts;

// Its definition and its contract speak of the same.
Status checked(const Folder& folder, const loader::WrittenContract& written, const loader::Entry& entry) {
  const Contract& contract = written.contract;
  if (const auto found = disagreement(contract, entry.describe)) {
    if (found->shape)
      return Status::invalid(fmt::format("{}:{}: {}", folder.contract_path(),
                                         written.operand_lines[static_cast<std::size_t>(found->operand)],
                                         found->sentence));
    const bool operand = found->operand >= 0 && static_cast<std::size_t>(found->operand) < contract.operands.size();
    const int line = operand ? line_of(folder, contract,
                                       contract.operands[static_cast<std::size_t>(found->operand)].name, found->written)
                             : 0;
    return Status::invalid(line != 0 ? fmt::format("{}:{}: {}", folder.definition_path(), line, found->sentence)
                                     : fmt::format("{}: {}", folder.definition_path(), found->sentence));
  }
  return {};
}

Status add_folder(Result<std::unique_ptr<Folder>> read, std::vector<Operator>& all) {
  if (!read.ok()) return read.status();
  // Contracts stay until the process ends, with the words that they are made of.
  std::unique_ptr<Folder> folder = std::move(read).value();
  for (const loader::WrittenContract& one : folder->contracts.all) {
    const auto taken = [&](const Operator& other) { return other.contract->family() == one.contract.family(); };
    std::vector<const Operator*> there = operators();
    for (const Operator& other : all) there.push_back(&other);
    const auto other = std::find_if(there.begin(), there.end(), [&](const Operator* o) { return taken(*o); });
    if (other != there.end())
      return Status::invalid(fmt::format("{}:{}: {}: the family has an operator {} already, from {}",
                                         folder->contract_path(), one.line, one.contract.name, (*other)->contract->name,
                                         (*other)->folder->origin));
  }
  auto parts = std::make_shared<Parts>(definition_of(*folder));
  if (Status s = parts->prepare(loader::first_parts()); !s.ok()) return s;
  const auto text = std::make_shared<const OperatorFolder>(OperatorFolder{.origin = folder->path.string(),
                                                                          .header = parts->definition().header,
                                                                          .definition = parts->definition().text,
                                                                          .problems = folder->problems,
                                                                          .peer = folder->peer,
                                                                          .written = written(*folder)});
  for (const loader::WrittenContract& one : folder->contracts.all) {
    auto entry = parts->reference(one.contract.name);
    if (!entry.ok()) return entry.status();
    if (Status s = checked(*folder, one, *entry.value()); !s.ok()) return s;
    Operator made{.contract = &one.contract, .folder = text};
    made.describe = entry.value()->describe;
    made.reference = entry.value()->reference;
    made.late = parts;
    all.push_back(std::move(made));
  }
  [[maybe_unused]] const Folder* forever = folder.release();
  return {};
}

}  // namespace

Status load_operators(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error).lexically_normal();
  if (error || folder.empty()) return Status::invalid(fmt::format("'{}' is no folder", folder));
  auto folders = loader::folders_at(path);
  if (!folders.ok()) return folders.status();
  std::vector<Operator> all;
  for (const std::filesystem::path& one : folders.value())
    if (Status s = add_folder(loader::read_folder(one), all); !s.ok()) return s;
  return add_operators(std::move(all));
}

Status loader::load_written(std::string_view text) {
  std::vector<Operator> all;
  if (Status s = add_folder(read_written(text), all); !s.ok()) return s;
  return add_operators(std::move(all));
}

Result<Call> call_of(std::string_view operator_name, std::initializer_list<NamedView> operands,
                     std::initializer_list<NamedOption> options) {
  Call call;
  call.contract = find_contract(operator_name);
  if (call.contract == nullptr) return Status::invalid(fmt::format("no operator '{}'", operator_name));
  const Contract& contract = *call.contract;
  if (contract.list) call.list.resize(1);
  Operands& set = contract.list ? call.list.front() : call.operands;
  for (std::size_t i = 0; i < contract.options.size(); ++i) call.options[i] = contract.options[i].fallback;
  for (const NamedView& one : operands) {
    const int at = contract.operand_index(one.name);
    if (at < 0) return Status::invalid(fmt::format("{} has no operand '{}'", contract.name, one.name));
    set[static_cast<std::size_t>(at)] = one.view;
  }
  for (const NamedOption& one : options) {
    Option value;
    if (Status s = parse_option(contract, one.name, one.value, value); !s.ok()) return s;
    call.options[static_cast<std::size_t>(contract.option_index(one.name))] = value;
  }
  return call;
}

}  // namespace tokitai

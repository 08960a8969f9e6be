#include "contract/ways.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/record.h"
#include "contract/roles.h"

namespace tokitai {
namespace {

constexpr std::size_t kMostCombined = 6;  // toggles tried in every combination; beyond them one at a time

Type type_of(TypeRule rule) {
  switch (rule) {
    case TypeRule::storage:
    case TypeRule::floating: return Type::f16;
    case TypeRule::f32:
    case TypeRule::storage_or_f32: return Type::f32;
    case TypeRule::index:
    case TypeRule::i64: return Type::i64;
  }
  return Type::f32;
}

// An operand that is there, of one element; nobody looks.
View somewhere(const OperandSpec& spec) {
  static std::byte nowhere[8];
  View view;
  view.data = nowhere;
  view.type = type_of(spec.type);
  view.rank = spec.rank();
  view.shape.fill(1);
  return view;
}

void give(Call& call, const Toggle& toggle) {
  if (toggle.option >= 0) {
    call.options[static_cast<std::size_t>(toggle.option)] = option_integer(1);
    return;
  }
  if (toggle.operand < 0) return;
  const auto operand = static_cast<std::size_t>(toggle.operand);
  for (Operands& set : sets_of(call)) set[operand] = somewhere(call.contract->operands[operand]);
}

}  // namespace

std::vector<Toggle> toggles_of(const Contract& contract) {
  std::vector<Toggle> toggles;
  for (int i = 0; i < static_cast<int>(contract.operands.size()); ++i)
    if (const OperandSpec& spec = contract.operands[static_cast<std::size_t>(i)]; spec.optional)
      toggles.push_back({i, -1, fmt::format("given({})", spec.name)});
  for (int i = 0; i < static_cast<int>(contract.options.size()); ++i)
    if (const OptionSpec& spec = contract.options[static_cast<std::size_t>(i)]; spec.kind == OptionKind::flag)
      toggles.push_back({-1, i, std::string(spec.name)});
  return toggles;
}

Call plainest_way(const Contract& contract) {
  Call call;
  call.contract = &contract;
  if (contract.list) call.list.resize(1);
  for (std::size_t i = 0; i < contract.options.size(); ++i) call.options[i] = contract.options[i].fallback;
  for (Operands& set : sets_of(call))
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      if (!contract.operands[i].optional) set[i] = somewhere(contract.operands[i]);
  return call;
}

Call way_with(const Contract& contract, const Toggle& toggle, const Toggle& other) {
  Call call = plainest_way(contract);
  give(call, toggle);
  give(call, other);
  return call;
}

std::vector<Call> ways_of(const Contract& contract) {
  const std::vector<Toggle> toggles = toggles_of(contract);
  std::vector<Call> ways;
  const std::size_t combined = std::min(toggles.size(), kMostCombined);
  for (std::size_t chosen = 0; chosen < std::size_t{1} << combined; ++chosen) {
    Call call = plainest_way(contract);
    for (std::size_t t = 0; t < combined; ++t)
      if ((chosen >> t & 1u) != 0) give(call, toggles[t]);
    ways.push_back(call);
  }
  for (std::size_t t = combined; t < toggles.size(); ++t) ways.push_back(way_with(contract, toggles[t]));
  const std::size_t zero = ways.size();
  for (std::size_t i = 0; i < zero; ++i) {
    ways.push_back(ways[i]);
    ways.back().scalars.fill(1.0f);
  }
  return ways;
}

Pattern pattern_of(const Contract& contract) { return describe(plainest_way(contract)).pattern; }

std::optional<Disagreement> disagreement(const Contract& contract, Describe describe) {
  Set read = 0, written = 0;
  const auto say = [&](int operand, bool writing, const std::string& what) {
    return Disagreement{fmt::format("{}: the definition {}", contract.name, what), operand, writing};
  };
  for (const Call& way : ways_of(contract)) {
    const Record record = describe(way);
    read |= record.reads;
    written |= record.writes;
    for (int i = 0; i < kMaxOperands; ++i) {
      const bool known = i < static_cast<int>(contract.operands.size());
      if (!known && (holds(record.reads | record.writes, i)))
        return say(i, false, fmt::format("asks for operand {}; the contract has {}", i, contract.operands.size()));
      if (!known) continue;
      const OperandSpec& spec = contract.operands[static_cast<std::size_t>(i)];
      if (holds(record.reads, i) && !reads(way, spec))
        return say(i, false, fmt::format("reads {}, which the contract says is only written", spec.name));
      if (holds(record.writes, i) && spec.role == Role::in)
        return say(i, true, fmt::format("writes {}, which the contract says is only read", spec.name));
    }
  }
  for (std::size_t i = 0; i < contract.operands.size(); ++i) {
    const OperandSpec& spec = contract.operands[i];
    const int operand = static_cast<int>(i);
    if (spec.role != Role::out && !holds(read, operand))
      return say(operand, false, fmt::format("never reads {}", spec.name));
    if (spec.role != Role::in && !holds(written, operand))
      return say(operand, true, fmt::format("never writes {}", spec.name));
  }
  return {};
}

Status agrees(const Contract& contract) {
  const auto found = disagreement(contract, &describe);
  return found ? Status::invalid(found->sentence) : Status();
}

}  // namespace tokitai

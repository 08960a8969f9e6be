#include "contract/ways.h"

#include <fmt/format.h>

#include <algorithm>

#include "contract/record.h"
#include "contract/roles.h"
#include "contract/shapes.h"

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

namespace {

// Operands that belong together are both there or both missing.
bool belong_together(const Call& way) {
  const Contract& contract = *way.contract;
  for (const Operands& set : sets_of(way))
    for (std::size_t i = 0; i < contract.operands.size(); ++i)
      if (const std::string_view with = contract.operands[i].with; !with.empty())
        if (set[i].present() != set[static_cast<std::size_t>(contract.operand_index(with))].present()) return false;
  return true;
}

// Each way once more with one option set that is no flag.
void add_options(const Contract& contract, std::vector<Call>& ways) {
  const std::size_t before = ways.size();
  for (std::size_t o = 0; o < contract.options.size(); ++o) {
    const OptionSpec& spec = contract.options[o];
    const bool given = spec.kind == OptionKind::integer && !spec.fallback.set;
    const std::size_t values = spec.kind == OptionKind::choice ? spec.choices.size() : given ? 2 : 0;
    for (std::size_t value = 1; value < values; ++value)
      for (std::size_t i = 0; i < before; ++i) {
        ways.push_back(ways[i]);
        ways.back().options[o] = option_integer(static_cast<std::int64_t>(value));
      }
  }
}

}  // namespace

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
  std::erase_if(ways, [](const Call& way) { return !belong_together(way); });
  add_options(contract, ways);
  const std::size_t zero = ways.size();
  for (std::size_t i = 0; i < zero; ++i) {
    ways.push_back(ways[i]);
    ways.back().scalars.fill(1.0f);
  }
  return ways;
}

Pattern pattern_of(const Contract& contract) { return describe(plainest_way(contract)).pattern; }

namespace {

// Everything that one of both asks for.
void add(Record& all, const Record& one) {
  for (Set Record::* sets :
       {&Record::reads, &Record::writes, &Record::tables, &Record::loaded, &Record::read, &Record::made,
        &Record::columns, &Record::row_values, &Record::stored, &Record::once, &Record::column_sums})
    all.*sets |= one.*sets;
  all.pattern = one.pattern;
  all.index = one.index;
  all.table = one.table;
  all.queries = one.queries;
  all.out = one.out;
  all.a = one.a;
  all.b = one.b;
  all.a_transposed = one.a_transposed;
  all.b_transposed = one.b_transposed;
  all.offsets = one.offsets;
}

}  // namespace

std::optional<Disagreement> disagreement(const Contract& contract, Describe describe) {
  Record all;  // over all ways
  const auto say = [&](int operand, bool writing, const std::string& what) {
    return Disagreement{fmt::format("{}: the definition {}", contract.name, what), operand, writing};
  };
  for (const Call& way : ways_of(contract)) {
    const Record record = describe(way);
    add(all, record);
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
      const bool there = sets_of(way).front()[static_cast<std::size_t>(i)].present();
      if (holds(record.reads, i) && !there)
        return say(i, false,
                   fmt::format("reads {} where it is not given; ask m.has(m.{}) first", spec.name, spec.name));
      if (there && spec.role != Role::in && !holds(record.writes, i))
        return say(i, true, fmt::format("does not write {} in every way it can be asked", spec.name));
    }
  }
  for (std::size_t i = 0; i < contract.operands.size(); ++i) {
    const OperandSpec& spec = contract.operands[i];
    const int operand = static_cast<int>(i);
    if (spec.role != Role::out && !holds(all.reads, operand))
      return say(operand, false, fmt::format("never reads {}", spec.name));
    if (spec.role != Role::in && !holds(all.writes, operand))
      return say(operand, true, fmt::format("never writes {}", spec.name));
  }
  return shape_disagreement(contract, all);
}

Status agrees(const Contract& contract) {
  const auto found = disagreement(contract, &describe);
  return found ? Status::invalid(found->sentence) : Status();
}

}  // namespace tokitai

#include "contract/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>

namespace tokitai {

std::vector<Operator> built_in_operators();  // made by the build

namespace {

// What readers see is never changed: whoever adds operators puts a longer table in its place. Earlier ones stay, for
// those who still read them.
struct Table {
  std::vector<Operator> added;  // by this table
  std::vector<const Operator*> all;
  const Table* before = nullptr;
};

// Whether it is such as a machine can work with: the arrays of a call hold its operands, options and sizes.
Status well_formed(const Operator& one) {
  const Contract& c = *one.contract;
  const auto refuse = [&](const std::string& why) {
    return Status::invalid(fmt::format("{}: {}: {}", one.folder->origin, c.name, why));
  };
  const auto word = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  };
  const std::size_t dot = c.name.find('.');
  if (dot == std::string_view::npos || !word(c.name.substr(0, dot)) || !word(c.name.substr(dot + 1)))
    return refuse("an operator's name is FAMILY.OPERATOR, in small letters, digits and _");
  if (c.operands.empty() || c.operands.size() > std::size_t{kMaxOperands})
    return refuse(fmt::format("it has {} operands; it must have 1 to {}", c.operands.size(), kMaxOperands));
  if (c.options.size() > std::size_t{kMaxOptions})
    return refuse(fmt::format("it has {} options; it may have {}", c.options.size(), kMaxOptions));
  std::set<std::string_view> symbols;
  for (const OperandSpec& spec : c.operands)
    for (const std::string_view symbol : spec.shape)
      if (!symbol.empty() && symbol != "1") symbols.insert(size_named(symbol).symbol);
  if (symbols.size() > std::size_t{kMaxSymbols})
    return refuse(fmt::format("its shapes have {} symbols; they may have {}", symbols.size(), kMaxSymbols));
  if (one.describe == nullptr) return refuse("nothing says what its definition asks for");
  if (one.reference == nullptr) return refuse("it has no kernel on the reference machine, which defines its bits");
  return {};
}

// Puts `more` behind what there was, or says which of them cannot be.
Status append(std::vector<const Operator*>& all, const std::vector<Operator>& more) {
  for (const Operator& one : more) {
    if (Status s = well_formed(one); !s.ok()) return s;
    for (const Operator* other : all) {
      const auto both = [&](const std::string& what) {
        return Status::invalid(fmt::format("{} and {} both have {}", other->folder->origin, one.folder->origin, what));
      };
      if (other->contract->name == one.contract->name) return both(fmt::format("an operator {}", one.contract->name));
      if (other->folder != one.folder && other->folder->header == one.folder->header)
        return both(fmt::format("a definition {}", one.folder->header));
    }
    all.push_back(&one);
  }
  return {};
}

void complete(std::vector<Operator>& operators) {
  for (Operator& one : operators)
    if (one.definition.empty()) one.definition = definition_name(*one.contract);
}

// The tests see that all of them are in it.
const Table* built_in_table() {
  auto* table = new Table;
  table->added = built_in_operators();
  complete(table->added);
  static_cast<void>(append(table->all, table->added));
  return table;
}

std::atomic<const Table*>& current() {
  static std::atomic<const Table*> table = built_in_table();
  return table;
}
const std::vector<const Operator*>& all() { return current().load(std::memory_order_acquire)->all; }

// Made before main, each family's contracts with it: a fork beside the first use of another thread would wait for ever
// for what that thread had begun. Whoever uses them even before that makes them then.
[[maybe_unused]] const std::size_t made_before_main = all().size();

}  // namespace

cpu::Kernel Operator::cpu_kernel(std::string_view isa) const {
  for (const CpuKernel& kernel : cpu)
    if (kernel.isa == isa) return kernel.run;
  return nullptr;
}

std::string definition_name(const Contract& contract) {
  const std::string_view family = contract.family();
  std::string name;
  bool upper = true;
  for (const char c : contract.name.substr(family.size() + 1)) {
    if (c != '_') name += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return fmt::format("tokitai::{}::{}", family, name);
}

std::vector<const Operator*> operators() { return all(); }
std::size_t operator_count() { return all().size(); }

const Operator* find_operator(std::string_view name) {
  for (const Operator* one : all())
    if (one->contract->name == name) return one;
  return nullptr;
}
const Operator* find_operator(const Contract& contract) {
  for (const Operator* one : all())
    if (one->contract == &contract) return one;
  return find_operator(contract.name);  // a copy of it
}

std::vector<std::shared_ptr<const OperatorFolder>> operator_folders() {
  std::vector<std::shared_ptr<const OperatorFolder>> folders;
  for (const Operator* one : all())
    if (std::find(folders.begin(), folders.end(), one->folder) == folders.end()) folders.push_back(one->folder);
  return folders;
}

Status add_operators(std::vector<Operator> more) {
  auto next = std::make_unique<Table>();
  next->added = std::move(more);
  complete(next->added);
  next->before = current().load(std::memory_order_acquire);
  do {
    next->all = next->before->all;
    if (Status s = append(next->all, next->added); !s.ok()) return s;
  } while (!current().compare_exchange_weak(next->before, next.get(), std::memory_order_acq_rel));
  [[maybe_unused]] const Table* kept = next.release();  // readers may hold it: it stays
  return {};
}

Record describe(const Call& call) {
  const Operator* found = find_operator(*call.contract);
  if (found == nullptr) found = find_operator(call.contract->name);  // a copy of its contract
  return found != nullptr ? found->describe(call) : Record{};
}

std::vector<const Contract*> contracts() {
  std::vector<const Contract*> found;
  for (const Operator* one : all()) found.push_back(one->contract);
  return found;
}

const Contract* find_contract(std::string_view name) {
  const Operator* found = find_operator(name);
  return found != nullptr ? found->contract : nullptr;
}

}  // namespace tokitai

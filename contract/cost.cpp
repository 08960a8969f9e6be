// What a call has to move and compute, from what its definition asks for.
#include <fmt/format.h>

#include "contract/contract.h"
#include "contract/formula.h"
#include "contract/record.h"
#include "contract/ways.h"

namespace tokitai {
namespace {

class Formulas {
 public:
  explicit Formulas(const Contract& contract) : contract_(contract), plain_(describe(plainest_way(contract))) {
    for (const Toggle& toggle : toggles_of(contract)) with_.push_back({toggle, describe(way_with(contract, toggle))});
  }

  std::string bytes(Set Record::* set) const {
    std::string all;
    for (int i = 0; i < static_cast<int>(contract_.operands.size()); ++i) {
      const std::string factor = factor_of(set, i);
      if (factor == "0") continue;
      if (!all.empty()) all += " + ";
      if (factor != "1") all += factor + " * ";
      all += set == &Record::reads && i == plain_.table && plain_.pattern == Pattern::segment && !plain_.sums
                 ? rows_looked_up()
                 : fmt::format("bytes({})", name(i));
    }
    return all.empty() ? "0" : all;
  }

  std::string operations() const {
    const std::string each = unit();
    std::string all = times(plain_.operations, each);
    for (const auto& [toggle, record] : with_) {
      const std::int64_t more = record.operations - plain_.operations;
      if (more != 0)
        all += fmt::format(" {} {} * {}", more > 0 ? "+" : "-", toggle.factor, times(more > 0 ? more : -more, each));
    }
    return all;
  }

 private:
  struct With {
    Toggle toggle;
    Record record;
  };
  std::string_view name(int operand) const { return contract_.operands[static_cast<std::size_t>(operand)].name; }
  auto shape(int operand) const { return contract_.operands[static_cast<std::size_t>(operand)].shape; }
  std::string_view last(int operand, int from_the_end) const {
    const OperandSpec& spec = contract_.operands[static_cast<std::size_t>(operand)];
    return spec.shape[static_cast<std::size_t>(spec.rank() - from_the_end)];
  }
  static std::string times(std::int64_t count, const std::string& what) {
    return count == 0 ? "0" : count == 1 ? what : fmt::format("{} * {}", count, what);
  }

  // 1 where an operand is always among them; else what that depends on.
  std::string factor_of(Set Record::* set, int operand) const {
    if (contract_.operands[static_cast<std::size_t>(operand)].optional) return factor_of_given(set, operand);
    const bool always = holds(plain_.*set, operand);
    for (const auto& [toggle, record] : with_) {
      const bool then = holds(record.*set, operand);
      if (then == always) continue;
      return then ? toggle.factor : fmt::format("(1 - {})", toggle.factor);
    }
    return always ? "1" : "0";
  }
  // Of an optional operand: where it is not given it has no bytes.
  std::string factor_of_given(Set Record::* set, int operand) const {
    for (const auto& [given, record] : with_) {
      if (given.operand != operand) continue;
      if (holds(record.*set, operand)) return "1";
      for (const auto& [toggle, _] : with_)
        if (holds(describe(way_with(contract_, given, toggle)).*set, operand)) return toggle.factor;
    }
    return "0";
  }
  // Rows that are looked up: each of them once.
  std::string rows_looked_up() const {
    return fmt::format("distinct({}) * {} * size({})", name(plain_.index), shape(plain_.table)[1], name(plain_.table));
  }
  // What operations are counted by.
  std::string unit() const {
    if (plain_.pattern == Pattern::tile)
      return fmt::format("{} * {} * {}", last(plain_.out, 2), last(plain_.out, 1),
                         shape(plain_.a)[plain_.a_transposed ? 0 : 1]);
    return fmt::format("elements({})", name(plain_.pattern == Pattern::segment ? plain_.queries : 0));
  }

  const Contract& contract_;
  const Record plain_;
  std::vector<With> with_;
};

}  // namespace

CostFormulas cost_formulas(const Contract& contract) {
  const Formulas formulas(contract);
  return {formulas.bytes(&Record::reads), formulas.bytes(&Record::writes), formulas.operations()};
}

Cost cost_of(const Call& call) { return cost_of(call, Values::unknown); }
Cost cost_of(const Call& call, Values values) {
  const CostFormulas formulas = cost_formulas(*call.contract);
  const auto value = [&](const std::string& formula) {
    const auto result = evaluate(formula, call, 1, values);
    return result.ok() ? result.value() : 0;  // the tests evaluate every formula there is
  };
  return {value(formulas.bytes_read), value(formulas.bytes_written), value(formulas.flops)};
}

}  // namespace tokitai

// Looking operators up. The list of families is made by the build from the folders under operators/.
#include "contract/contract.h"

#include <fmt/format.h>

#include "contract/formula.h"
#include "contract/roles.h"

namespace tokitai {

#define TK_FAMILY(family)                \
  namespace family {                     \
  std::span<const Contract> contracts(); \
  }
#include "families.inc"
#undef TK_FAMILY

std::string_view name_of(Guarantee guarantee) {
  switch (guarantee) {
    case Guarantee::exact_copy: return "exact_copy";
    case Guarantee::correctly_rounded: return "correctly_rounded";
    case Guarantee::reproducible: return "reproducible";
    case Guarantee::bounded: return "bounded";
  }
  return "?";
}

std::string_view evidence_for(Guarantee guarantee) {
  switch (guarantee) {
    case Guarantee::exact_copy:
      return "every output bit equals the input's, for every data family, NaN payloads included";
    case Guarantee::correctly_rounded:
      return "every output bit equals that of the exact result rounded once, for every data family, on every device";
    case Guarantee::reproducible:
      return "every output bit equals the reference machine's, a GPU's those of the cpu device, for every data family, "
             "instruction set, thread count and plan, with the batch cut, and under a hostile floating-point mode; "
             "kernels compiled for a GPU pass the audit of their machine text";
    case Guarantee::bounded: return "no output is further from an enclosure of the real result than the bound says";
  }
  return "?";
}

int Contract::operand_index(std::string_view operand) const {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].name == operand) return static_cast<int>(i);
  return -1;
}

int Contract::option_index(std::string_view option) const {
  for (std::size_t i = 0; i < options.size(); ++i)
    if (options[i].name == option) return static_cast<int>(i);
  return -1;
}

std::span<const Contract* const> contracts() {
  static const std::vector<const Contract*> all = [] {
    std::vector<const Contract*> list;
#define TK_FAMILY(family) \
  for (const Contract& contract : family::contracts()) list.push_back(&contract);
#include "families.inc"
#undef TK_FAMILY
    return list;
  }();
  return all;
}
namespace {
// Made before main, each family's table with it: a fork beside the first use of another thread would wait for ever for
// what that thread had begun. Whoever uses them even before that makes them then.
[[maybe_unused]] const std::size_t made_before_main = contracts().size();
}  // namespace

const Contract* find_contract(std::string_view name) {
  for (const Contract* contract : contracts())
    if (contract->name == name) return contract;
  return nullptr;
}

std::vector<std::string> claims_of(const Contract& contract) {
  std::vector<std::string> claims;
  for (const Promise& promise : contract.ensures)
    claims.push_back(promise.types.empty()
                         ? fmt::format("{}: {}", name_of(promise.kind), promise.text)
                         : fmt::format("{} ({}): {}", name_of(promise.kind), promise.types, promise.text));
  claims.push_back(fmt::format("determinism: {}", contract.determinism));
  return claims;
}

bool Call::option_set(std::string_view name) const {
  const int index = contract->option_index(name);
  return index >= 0 && option(index).set && option(index).i != 0;
}

std::span<const Operands> sets_of(const Call& call) {
  return call.contract->list ? std::span(call.list) : std::span(&call.operands, 1);
}
std::span<Operands> sets_of(Call& call) {
  return call.contract->list ? std::span(call.list) : std::span(&call.operands, 1);
}

bool reads(const Call& call, const OperandSpec& spec) {
  return spec.role != Role::out || (!spec.read_when.empty() && call.option_set(spec.read_when));
}

bool can_be_cut(const Call& call) {
  const Contract& contract = *call.contract;
  return !contract.batch.empty() && (contract.whole_when.empty() || !call.option_set(contract.whole_when));
}

std::int64_t dimension(const Call& call, std::string_view symbol) {
  for (const Symbol& s : call.symbols)
    if (s.name == symbol) return s.value;
  return 0;
}

}  // namespace tokitai

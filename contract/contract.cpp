// Looking operators up. The list of families is made by the build from the folders under operators/.
#include "contract/contract.h"

#include "contract/roles.h"

namespace tokitai {

#define TK_FAMILY(family)                \
  namespace family {                     \
  std::span<const Contract> contracts(); \
  }
#include "families.inc"
#undef TK_FAMILY

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

const Contract* find_contract(std::string_view name) {
  for (const Contract* contract : contracts())
    if (contract->name == name) return contract;
  return nullptr;
}

bool Call::option_set(std::string_view name) const {
  const int index = contract->option_index(name);
  return index >= 0 && option(index).set && option(index).i != 0;
}

bool reads(const Call& call, const OperandSpec& spec) {
  return spec.role != Role::out || (!spec.read_when.empty() && call.option_set(spec.read_when));
}

std::int64_t dimension(const Call& call, std::string_view symbol) {
  for (const Symbol& s : call.symbols)
    if (s.name == symbol) return s.value;
  return 0;
}

}  // namespace tokitai

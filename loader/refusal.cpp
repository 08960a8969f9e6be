#include "loader/refusal.h"

#include <fmt/format.h>

#include "contract/roles.h"

namespace tokitai::loader {

std::string refusal_of(const Call& call, std::int64_t position) {
  const Contract& contract = *call.contract;
  std::string first;  // where none of them is out of its range
  for (std::size_t i = 0; i < contract.operands.size(); ++i) {
    const OperandSpec& spec = contract.operands[i];
    const View& view = call.operands[i];
    if (spec.type != TypeRule::index || !view.present() || position >= view.elements()) continue;
    const std::int64_t value = view.type == Type::i32 ? static_cast<const std::int32_t*>(view.data)[position]
                                                      : static_cast<const std::int64_t*>(view.data)[position];
    const std::int64_t most = dimension(call, spec.below);
    const std::int64_t* none = left_out(call, spec);
    const std::string said =
        fmt::format("{}: {}[{}] = {}; it must be in [0, {}){}", contract.name, spec.name, position, value, most,
                    none != nullptr ? fmt::format(", or equal {} {}", spec.left_out, *none) : "");
    if ((value < 0 || value >= most) && (none == nullptr || value != *none)) return said;
    if (first.empty()) first = said;
  }
  if (!first.empty()) return first;
  return fmt::format("{}: row {} is refused by the definition's own check (valid or accepts)", contract.name, position);
}

}  // namespace tokitai::loader

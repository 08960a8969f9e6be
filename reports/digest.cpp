#include "reports/digest.h"

#include <fmt/format.h>

#include "base/sha256.h"
#include "machines/device/plan.h"
#include "reports/contract_json.h"

namespace tokitai::evidence {

std::string contract_digest(const Contract& contract) { return base::sha256(canonical(to_json(contract))); }

std::string source_digest(std::string_view path) {
  for (const device::Text& text : device::device_headers())
    if (text.name == path) return base::sha256(text.text);
  return {};
}

std::string definition_path(const Contract& contract) {
  const Operator* found = find_operator(contract);
  return found != nullptr ? found->folder->header : std::string();
}

std::string elements_digest(const std::vector<Operands>& sets, std::size_t operand) {
  base::RunningSha256 digest;
  for (const Operands& set : sets) {
    const View& view = set[operand];
    if (!view.present()) continue;
    const auto size = static_cast<std::int64_t>(size_of(view.type));
    const std::int64_t bytes = view.line_elements() * size;
    const auto* at = static_cast<const char*>(view.data);
    for (std::int64_t r = 0; r < view.lines(); ++r)
      digest.add({at + view.line_offset(r) * size, static_cast<std::size_t>(bytes)});
  }
  return digest.hex();
}

}  // namespace tokitai::evidence

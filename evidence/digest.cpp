#include "evidence/digest.h"

#include <fmt/format.h>

#include "compiler/sha256.h"
#include "contract/json.h"
#include "machines/device/plan.h"

namespace tokitai::evidence {

std::string contract_digest(const Contract& contract) { return compiler::sha256(canonical(to_json(contract))); }

std::string source_digest(std::string_view path) {
  for (const device::Text& text : device::device_headers())
    if (text.name == path) return compiler::sha256(text.text);
  return {};
}

std::string definition_path(const Contract& contract) {
  const Operator* found = find_operator(contract);
  return found != nullptr ? found->folder->header : std::string();
}

std::string elements_digest(const std::vector<Operands>& sets, std::size_t operand) {
  compiler::RunningSha256 digest;
  for (const Operands& set : sets) {
    const View& view = set[operand];
    if (!view.present()) continue;
    const auto size = static_cast<std::int64_t>(size_of(view.type));
    const std::int64_t rows = view.rank == 2 ? view.rows() : 1, stride = view.rank == 2 ? view.row_stride * size : 0;
    const std::int64_t bytes = (view.rank == 2 ? view.cols() : view.rows()) * size;
    const auto* at = static_cast<const char*>(view.data);
    for (std::int64_t r = 0; r < rows; ++r) digest.add({at + r * stride, static_cast<std::size_t>(bytes)});
  }
  return digest.hex();
}

}  // namespace tokitai::evidence

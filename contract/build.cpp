// Putting calls together, and the scratch memory of the row pattern in words.
#include "contract/build.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokitai {

Call make_call(std::string_view name, std::initializer_list<View> operands, std::initializer_list<Option> options) {
  Call call;
  call.contract = find_contract(name);
  std::copy(operands.begin(), operands.end(), call.operands.begin());
  std::copy(options.begin(), options.end(), call.options.begin());
  return call;
}

std::string row_workspace_formula(int kept, int column_sums) {
  const std::string buffers =
      column_sums == 0 ? fmt::format("threads * {}", kept)
                       : fmt::format("(threads * {} + {} * ceil(rows, 32))", kept + column_sums, column_sums);
  return fmt::format("threads * {} + 4 * (16 * ceil(cols, 16) + {}) * {}", kRowMachineBytes, kRowPadding, buffers);
}

}  // namespace tokitai

// Putting calls together, and the cost that follows from operands' roles.
#include "contract/build.h"

#include <algorithm>

namespace tokitai {

Call make_call(std::string_view name, std::initializer_list<View> operands, std::initializer_list<Option> options) {
  Call call;
  call.contract = find_contract(name);
  std::copy(operands.begin(), operands.end(), call.operands.begin());
  std::copy(options.begin(), options.end(), call.options.begin());
  return call;
}

Cost cost_by_roles(const Call& call, std::int64_t flops_per_element) {
  Cost cost;
  const auto add = [&](const Operands& set) {
    cost.flops += flops_per_element * set[0].elements();
    for (std::size_t i = 0; i < call.contract->operands.size(); ++i) {
      const OperandSpec& spec = call.contract->operands[i];
      const int when = call.contract->option_index(spec.read_when);
      const bool read_too = when >= 0 && call.option(when).i != 0;
      if (spec.role != Role::out || read_too) cost.bytes_read += bytes_of(set[i]);
      if (spec.role != Role::in) cost.bytes_written += bytes_of(set[i]);
    }
  };
  if (call.contract->list)
    std::for_each(call.list.begin(), call.list.end(), add);
  else
    add(call.operands);
  return cost;
}

}  // namespace tokitai

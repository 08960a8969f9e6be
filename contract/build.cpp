// Putting calls together.
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

}  // namespace tokitai

// Tokitai: training operators that carry a contract. One include for all of them.
#pragma once
#include "tokitai/device.h"
#include "tokitai/operators.h"
#include "tokitai/status.h"
#include "tokitai/swiglu.h"
#include "tokitai/tensor.h"
#include "tokitai/view.h"

namespace tokitai {

// The most scratch memory a call with these arguments takes on this device.
template <class Arguments> Result<std::int64_t> workspace(const Device& device, const Arguments& arguments) {
  Call call = bind(arguments);
  return device.workspace(call);
}

}  // namespace tokitai

// Tokitai: training operators that carry a contract. One include for all of them.
#pragma once
#include "tokitai/adamw.h"
#include "tokitai/cross_entropy.h"
#include "tokitai/device.h"
#include "tokitai/embedding.h"
#include "tokitai/gemm.h"
#include "tokitai/gradient.h"
#include "tokitai/layernorm.h"
#include "tokitai/softmax.h"
#include "tokitai/status.h"
#include "tokitai/tensor.h"
#include "tokitai/view.h"

namespace tokitai {

// The most scratch memory a call with these arguments takes on this device.
template <class Arguments> Result<std::int64_t> workspace(const Device& device, const Arguments& arguments) {
  Call call = bind(arguments);
  return device.workspace(call);
}

}  // namespace tokitai

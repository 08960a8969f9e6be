// One AdamW step over one tensor or a list of them. See operators/adamw/README.md.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "tokitai/device.h"
#include "tokitai/view.h"

namespace tokitai {

// A vector or a matrix without gaps; its operands have one shape.
struct AdamwTensor {
  View theta;  // updated in place
  View m;      // f32, updated in place
  View v;      // f32, updated in place
  ConstView grad;
  View master = {};  // optional: f32 weights; theta is then only written
};

// Integers that count, and that 64 bits with a sign hold: no truth values, no characters, no std::uint64_t.
template <class I>
concept Counting = std::integral<I> && std::numeric_limits<I>::digits <= std::numeric_limits<std::int64_t>::digits &&
                   !std::same_as<I, bool> && !std::same_as<I, char> && !std::same_as<I, wchar_t> &&
                   !std::same_as<I, char8_t> && !std::same_as<I, char16_t> && !std::same_as<I, char32_t>;

// It has no default: a forgotten step would be taken for the first, so a call without one does not compile.
class AdamwStepNumber {
 public:
  template <Counting I>
  constexpr AdamwStepNumber(I value)  // NOLINT(google-explicit-constructor)
      : value_(value) {}
  constexpr operator std::int64_t() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  std::int64_t value_;
};

struct AdamwStep {
  std::span<const AdamwTensor> tensors;
  float lr = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0.01f;
  AdamwStepNumber t;  // the step, from 1
  float grad_scale = 1;
  bool skip_nonfinite = false;  // change nothing if any gradient of the list is not finite
  bool* skipped = nullptr;      // told here, where asked for: the call then waits for the device
  // One value each for the whole list, where gradient_norm put them: nobody waits for the device in between.
  ConstView scale = {};  // [1] f32: second factor on the gradients
  ConstView norm = {};   // [1] f32: skip_nonfinite asks it instead of the gradients
  View outcome = {};     // [1] i64: 1 where the step was skipped, else 0
};
Status adamw_step(Device& device, const AdamwStep& arguments);
Call bind(const AdamwStep& arguments);

}  // namespace tokitai

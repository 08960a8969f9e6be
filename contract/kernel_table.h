// The kernels of host machines: functions made from the definitions, one table per operator folder.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "contract/contract.h"

namespace tokitai {

template <class F> struct NamedKernel {
  std::string_view name;
  F run;
};

// What a kernel answers, in a form that needs no library code: kernels are built per instruction set, and any
// shared inline function compiled there could be linked into code for a lesser processor.
struct Answer {
  enum Kind { good, refused, too_many, skipped, out_of_memory } kind = good;
  std::int64_t position = 0;  // refused, skipped: the first element; too_many: the smallest index that occurs too often
  std::int64_t tensor = 0;    // skipped: its place in the list
};
inline constexpr std::int64_t kByTheCall = -1;  // skipped: by no element, but by what the call has once

// A kernel of an operator over a list takes a journal, too (patterns/journal.h), or none.
namespace reference {
using Kernel = Answer (*)(const Call&, std::byte* journal);
}

namespace cpu {
class Pool;
using Kernel = Answer (*)(const Call&, Pool&, std::byte* journal);
}  // namespace cpu

}  // namespace tokitai

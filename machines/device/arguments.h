// What a launch passes to a kernel: plain data, laid out alike on the host and on every GPU.
#pragma once
#include <cstdint>

#include "machines/device/access.h"
#include "machines/device/kinds.h"

namespace tokitai::device {

// Addresses are pointers; kernels on the lockstep machine cannot look into them, only make memory of them.
struct Operand {
  Address<void*, Row, Column, Counted> data;
  std::int64_t stride;  // elements from one row to the next
};

// One tensor of a list (the each pattern), with as many operands as the operator has: every block looks its tensor up.
template <int operands> struct Tensor {
  std::int64_t length;
  std::int64_t first;  // how many pieces of work the tensors before it make
  Address<void*, Element> data[operands];
};

struct Arguments {
  Operand operand[kOperands];
  float scalar[kScalars];
  std::int64_t option[kOptions];
  std::uint64_t options_set;  // bit i: option i was given
  // row: rows, cols. segment: queries, dim, vocab. tile: rows, cols, inner. each: tensors, pieces of work.
  std::int64_t extent[3];
  Address<const void*, InList> tensors;  // the table of a list (tensor_table.h)
  Address<void*, Workspace> workspace;
  Address<std::uint64_t*> flag;     // the smallest position that a check refused; all ones: none
  Address<std::uint32_t*> counter;  // zero before the call: grid barriers and the count of finished blocks
  Address<std::uint64_t*> counted;  // zero before the call: the rows that a check counts
};

inline constexpr std::uint64_t kUnflagged = ~std::uint64_t{0};

}  // namespace tokitai::device

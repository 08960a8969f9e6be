// What a launch passes to a kernel: plain data, laid out alike on the host and on every GPU.
#pragma once
#include <cstdint>

#include "machines/device/access.h"
#include "machines/device/kinds.h"

namespace tokitai::device {

// Addresses are pointers; kernels on the lockstep machine cannot look into them, only make memory of them.
struct Operand {
  Address<void*, Row, Column, Counted, Element> data;
  std::int64_t stride;  // elements from one row to the next
};

// One tensor of a list (the each pattern), with as many operands as the operator has: every block looks its tensor up.
template <int operands> struct Tensor {
  std::int64_t length;
  std::int64_t first;   // how many pieces of work the tensors before it make
  std::uint64_t kinds;  // element types of its operands, four bits each
  Address<void*, Element> data[operands];
};

struct Arguments {
  Operand operand[kOperands];
  float scalar[kScalars];
  std::int64_t option[kOptions];
  std::uint64_t options_set;  // bit i: option i was given
  // row: rows, cols. segment: queries, dim, vocab. tile: rows, cols, inner, groups. each: tensors, pieces of work;
  // of a single tensor elements, pieces, or where its rows are apart rows, columns (pairs), rows of the table.
  std::int64_t extent[4];
  Address<const void*, InList> tensors;  // the table of a list (tensor_table.h)
  Address<void*, Workspace> workspace;
  Address<std::uint64_t*> flag;     // the smallest position that a check refused; all ones: none
  Address<std::uint32_t*> counter;  // zero before the call: grid barriers and the count of finished blocks
  Address<std::uint64_t*> counted;  // zero before the call: the rows that a check counts
};

// A matrix in global memory as the copy engine knows it, made by the driver (plan.h: MapPlan).
struct alignas(64) Map {
  std::uint64_t word[16];
};
// The same with maps: the factors, the output, the factors' scales.
enum MapOf : int { kLeftMap, kRightMap, kOutMap, kLeftScalesMap, kRightScalesMap, kMaps };
struct MappedArguments {
  Arguments arguments;
  Map map[kMaps];
};

inline constexpr std::uint64_t kUnflagged = ~std::uint64_t{0};
inline constexpr std::uint64_t kCalledOff = kUnflagged - 1;  // a list's step, by what the call has once

}  // namespace tokitai::device

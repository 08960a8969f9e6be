// A list of tensors as one row of elements, cut into units of work that may span none, one or a part of a tensor.
#pragma once
#include <algorithm>
#include <cstdint>

#include "numerics/base.h"
#include "tokitai/call.h"

namespace tokitai {

// A multiple of every register's width, so that a single tensor is cut between registers.
inline constexpr std::int64_t kListUnit = 65536;

TK_FN std::int64_t list_elements(const Call& call) {
  std::int64_t total = 0;
  for (const Operands& tensor : call.list) total += tensor[0].elements();
  return total;
}
TK_FN std::int64_t list_units(std::int64_t elements) { return (elements + kListUnit - 1) / kListUnit; }

// Calls visit(tensor index, tensor, begin, end) for the runs of a unit's elements in one tensor each.
template <class F> TK_FN void for_each_run(const Call& call, std::int64_t unit, F visit) {
  const std::int64_t begin = unit * kListUnit, end = begin + kListUnit;
  std::int64_t before = 0;
  std::int64_t t = 0;
  for (const Operands& tensor : call.list) {
    const std::int64_t n = tensor[0].elements();
    if (before >= end) return;
    if (before + n > begin) visit(t, tensor, std::max<std::int64_t>(0, begin - before), std::min(n, end - before));
    before += n;
    ++t;
  }
}

}  // namespace tokitai

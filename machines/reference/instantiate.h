// Turns the definitions of one operator folder into kernels of the reference machine.
#pragma once
#include "machines/reference/each.h"
#include "machines/reference/list_sum.h"
#include "machines/reference/row.h"
#include "machines/reference/segment.h"
#include "machines/reference/tile.h"
#include "runtime/kernel_table.h"

namespace tokitai::reference {

template <class D> constexpr Kernel kernel(patterns::Each) { return &run_each<D>; }
template <class D> constexpr Kernel kernel(patterns::ListSum) { return &run_list_sum<D>; }
template <class D> constexpr Kernel kernel(patterns::Row) { return &run_row<D>; }
template <class D> constexpr Kernel kernel(patterns::Segment) { return &run_segment<D>; }
template <class D> constexpr Kernel kernel(patterns::Tile) { return &run_tile<D>; }

template <class... D> std::span<const NamedKernel<Kernel>> kernels(Family<D...>) {
  static constexpr NamedKernel<Kernel> table[] = {{D::name, kernel<D>(typename D::Pattern{})}...};
  return table;
}

}  // namespace tokitai::reference

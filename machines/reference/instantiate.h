// Turns the definitions of one operator folder into kernels of the reference machine.
#pragma once
#include "contract/kernel_table.h"
#include "machines/reference/each.h"
#include "machines/reference/list_sum.h"
#include "machines/reference/row.h"
#include "machines/reference/segment.h"
#include "machines/reference/tile.h"

namespace tokitai::reference {

template <class D> Answer run(patterns::Each, const Call& call, std::byte* journal) {
  return run_each<D>(call, journal);
}
template <class D> Answer run(patterns::ListSum, const Call& call, std::byte*) { return run_list_sum<D>(call); }
template <class D> Answer run(patterns::Row, const Call& call, std::byte*) { return run_row<D>(call); }
template <class D> Answer run(patterns::Segment, const Call& call, std::byte*) { return run_segment<D>(call); }
template <class D> Answer run(patterns::Tile, const Call& call, std::byte*) { return run_tile<D>(call); }

template <class D> Answer run_by_pattern(const Call& call, std::byte* journal) {
  return run<D>(typename D::Pattern{}, call, journal);
}

template <class... D> std::span<const NamedKernel<Kernel>> kernels(Family<D...>) {
  static constexpr NamedKernel<Kernel> table[] = {{D::name, &run_by_pattern<D>}...};
  return table;
}

}  // namespace tokitai::reference

// Turns the definitions of one operator folder into kernels of the analysis machines, one per number type.
#pragma once
#include "machines/analysis/bound.h"
#include "machines/analysis/dual.h"
#include "machines/analysis/each.h"
#include "machines/analysis/interval.h"
#include "machines/analysis/list_sum.h"
#include "machines/analysis/machine.h"
#include "machines/analysis/row.h"
#include "machines/analysis/segment.h"
#include "machines/analysis/tile.h"

namespace tokitai::analysis {

template <class N, class D> constexpr Kernel<N> kernel(patterns::Each) { return &run_each<N, D>; }
template <class N, class D> constexpr Kernel<N> kernel(patterns::ListSum) { return &run_list_sum<N, D>; }
template <class N, class D> constexpr Kernel<N> kernel(patterns::Row) { return &run_row<N, D>; }
template <class N, class D> constexpr Kernel<N> kernel(patterns::Segment) { return &run_segment<N, D>; }
template <class N, class D> constexpr Kernel<N> kernel(patterns::Tile) { return &run_tile<N, D>; }

template <class D> constexpr Kernels kernels_of() {
  constexpr typename D::Pattern pattern{};
  return {kernel<Interval, D>(pattern), kernel<Bound, D>(pattern), kernel<Terms, D>(pattern), kernel<Dual, D>(pattern)};
}

template <class... D> std::span<const NamedKernel<Kernels>> kernels(Family<D...>) {
  static constexpr NamedKernel<Kernels> table[] = {{D::name, kernels_of<D>()}...};
  return table;
}

}  // namespace tokitai::analysis

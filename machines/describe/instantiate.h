// Turns a definition into the function that describes it.
#pragma once
#include "machines/describe/each.h"
#include "machines/describe/row.h"
#include "machines/describe/segment.h"
#include "machines/describe/tile.h"

namespace tokitai::describing {

template <class D> constexpr Describe describer(patterns::Each) { return &describe_each<D>; }
template <class D> constexpr Describe describer(patterns::Row) { return &describe_row<D>; }
template <class D> constexpr Describe describer(patterns::Segment) { return &describe_segment<D>; }
template <class D> constexpr Describe describer(patterns::Tile) { return &describe_tile<D>; }
template <class D> constexpr Describe describer() { return describer<D>(typename D::Pattern{}); }

}  // namespace tokitai::describing

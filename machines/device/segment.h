// The segment pattern on a GPU: gather rows by index; sum the rows that share one. One cooperative launch each: phases
// are separated by grid barriers, the first asks every index.
#pragma once
#include "machines/device/segment_scatter.h"

namespace tokitai::device {

template <class D, SegmentPlan P> struct SegmentMachine : SegmentRows<D, P> {
  TK_FN explicit SegmentMachine(const Arguments& a) : SegmentRows<D, P>(a) {}

  template <class O, class Y, class I, class N> TK_FN void scatter_sum(O, Y, I, N, bool) const {
    SegmentScatter<D, P, O::index, Y::index>{*this}.run();
  }
};

template <class D, SegmentPlan P> TK_FN void segment_kernel(const Arguments& arguments) {
  SegmentMachine<D, P> m(arguments);
  if constexpr (P.gathers) {
    m.check_indices_();
    grid_barrier(global_one<u32>(arguments.counter), 1);
    if (refused(arguments)) return;
  }
  D::segment(m);
}

}  // namespace tokitai::device

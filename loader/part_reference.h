// The part that defines the bits: the reference machine's kernels, and what each definition asks for.
#pragma once
#include "loader/part.h"
#include "machines/describe/instantiate.h"
#include "machines/reference/instantiate.h"

namespace tokitai::loader {
template <class D> Entry entry() {
  return {D::name, describing::describer<D>(), &reference::run_by_pattern<D>, nullptr, nullptr};
}
}  // namespace tokitai::loader

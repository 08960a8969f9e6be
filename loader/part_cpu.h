// The cpu machine's kernels for one instruction set, TK_ISA.
#pragma once
#include "loader/part.h"
#include "machines/cpu/instantiate.h"

namespace tokitai::loader {
template <class D> Entry entry() { return {D::name, nullptr, nullptr, &cpu::TK_ISA::run_stored<D>, nullptr}; }
}  // namespace tokitai::loader

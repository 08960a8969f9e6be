// Turns the definitions of one operator folder into kernels of the cpu machine, for the instruction set this
// translation unit is built for and every storage type.
#pragma once
#include "machines/cpu/each.h"
#include "machines/cpu/each_tensor.h"
#include "machines/cpu/list_sum.h"
#include "machines/cpu/row_run.h"
#include "machines/cpu/segment.h"
#include "machines/cpu/tile.h"

namespace tokitai::cpu::TK_ISA {

template <class D, Type S> Answer run(patterns::Each, const Call& call, Pool& pool, std::byte* journal) {
  if constexpr (kOverList<D>)
    return run_each<D, S>(call, pool, journal);
  else
    return run_tensor<D, S>(call, pool);
}
template <class D, Type> Answer run(patterns::ListSum, const Call& call, Pool& pool, std::byte*) {
  return run_list_sum<D>(call, pool);
}
template <class D, Type S> Answer run(patterns::Row, const Call& call, Pool& pool, std::byte*) {
  return run_row<D, S>(call, pool);
}
template <class D, Type S> Answer run(patterns::Segment, const Call& call, Pool& pool, std::byte*) {
  return run_segment<D, S>(call, pool);
}
template <class D, Type S> Answer run(patterns::Tile, const Call& call, Pool& pool, std::byte*) {
  return run_tile<D, S>(call, pool);
}

template <class D> Answer run_stored(const Call& call, Pool& pool, std::byte* journal) {
  const typename D::Pattern pattern{};
  switch (call.storage) {
    case Type::bf16: return run<D, Type::bf16>(pattern, call, pool, journal);
    case Type::f32: return run<D, Type::f32>(pattern, call, pool, journal);
    default: return run<D, Type::f16>(pattern, call, pool, journal);
  }
}

template <class... D> std::span<const NamedKernel<Kernel>> kernels(Family<D...>) {
  static constexpr NamedKernel<Kernel> table[] = {{D::name, &run_stored<D>}...};
  return table;
}

}  // namespace tokitai::cpu::TK_ISA

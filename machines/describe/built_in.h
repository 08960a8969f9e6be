// From what the build makes of one folder under operators/ to entries of the registry.
#pragma once
#include <span>

#include "contract/registry.h"
#include "machines/describe/instantiate.h"
#include "patterns/names.h"

namespace tokitai::built_in {

struct CpuTable {
  const char* isa;
  std::span<const NamedKernel<cpu::Kernel>> kernels;
};

template <class F> F named(std::span<const NamedKernel<F>> table, std::string_view name) {
  for (const NamedKernel<F>& kernel : table)
    if (kernel.name == name) return kernel.run;
  return nullptr;
}

template <class... D>
void add(std::vector<Operator>& all, OperatorFolder folder, std::span<const Contract> contracts, Family<D...>,
         std::span<const NamedKernel<reference::Kernel>> reference, std::initializer_list<CpuTable> cpu) {
  const auto shared = std::make_shared<const OperatorFolder>(std::move(folder));
  for (const Contract& contract : contracts) {
    Operator one{.contract = &contract, .folder = shared};
    ((contract.name == D::name ? void(one.describe = describing::describer<D>()) : void()), ...);
    one.reference = named(reference, contract.name);
    for (const CpuTable& table : cpu)
      if (const cpu::Kernel kernel = named(table.kernels, contract.name)) one.cpu.push_back({table.isa, kernel});
    all.push_back(std::move(one));
  }
}

}  // namespace tokitai::built_in

// A kernel of device text, compiled by the host's compiler and loaded.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/compiler.h"
#include "machines/device/plan.h"
#include "tokitai/device.h"

namespace tokitai::lockstep {

// Takes MappedArguments where its launch has maps, Arguments otherwise.
using Kernel = void (*)();

class Library {
 public:
  // Asked at every compilation, because operators may be added meanwhile. The texts' memory must last as long as this.
  using Headers = std::function<std::vector<device::Text>()>;
  explicit Library(Headers headers) : texts_(std::move(headers)) {}

  // Compiled through the kernel cache the first time.
  Result<Kernel> get(const device::Launch& launch, std::string_view label);
  // Has the kernels of those calls compiled into the cache, for get.
  Status compile_ahead(const std::vector<Call>& calls, const device::Machinery& machinery,
                       const CompileProgress& progress) const;
  const std::vector<KernelFacts>& facts() const { return facts_; }

 private:
  std::vector<compiler::Header> headers() const;

  Headers texts_;
  std::map<std::string, Kernel> loaded_;  // by source; libraries stay loaded
  std::vector<KernelFacts> facts_;
};

}  // namespace tokitai::lockstep

// Kernels by their text: compiled or taken from the compiler's cache, audited, loaded; once per process and device.
#pragma once
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/compiler.h"
#include "compiler/target.h"
#include "machines/device/plan.h"
#include "machines/gpu/context.h"
#include "tokitai/device.h"

namespace tokitai::gpu {

// What the compiler calls this device.
Result<compiler::Target> target_of(const Driver& driver, const DeviceFacts& facts);

class Kernels {
 public:
  Kernels(Context& context, const compiler::Target& target) : context_(context), target_(target) {}

  // check_failed names what the audit found; the compiler's own failures come as they are. From any thread: who needs
  // a kernel that is there does not wait while another is compiled.
  Result<Function*> get(const device::Launch& launch, std::string_view operator_name);
  // Has them compiled into the cache, for get.
  Status compile_ahead(const std::vector<Call>& calls, const device::Machinery& machinery,
                       const CompileProgress& progress) const;
  // From the manifests; what is not in the cache is compiled.
  Result<double> compile_seconds(const Call& call, const device::Machinery& machinery) const;
  const compiler::Target& target() const { return target_; }
  std::vector<KernelFacts> loaded() const;

 private:
  Result<compiler::Artifact> artifact_of(const device::Launch& launch, std::string_view operator_name) const;

  Context& context_;
  const compiler::Target target_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Function*> functions_;  // by text and kernel
  std::vector<KernelFacts> loaded_;
};

}  // namespace tokitai::gpu

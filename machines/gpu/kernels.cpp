#include "machines/gpu/kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include <vector>

#include "compiler/audit.h"
#include "compiler/cache.h"
#include "compiler/compiler.h"
#include "machines/device/compile_ahead.h"

namespace tokitai::gpu {
namespace {

// The device text, as the compiler takes it.
std::vector<compiler::Header> headers() {
  std::vector<compiler::Header> all;
  for (const device::Text& text : device::device_headers()) all.push_back({text.name, text.text});
  return all;
}

std::string label_of(const device::Launch& launch, std::string_view operator_name) {
  return fmt::format("{} {}", operator_name, launch.kernel);
}

Status audited(const compiler::Artifact& artifact, const compiler::Target& target, const std::string& label) {
  const std::vector<compiler::Finding> findings = compiler::audit(artifact, target);
  if (findings.empty()) return {};
  const compiler::Finding& first = findings.front();
  const std::string more = findings.size() > 1 ? fmt::format(" (and {} more)", findings.size() - 1) : "";
  return {Code::check_failed, fmt::format("{}: the audit of its machine code for {} found {} in {}: {}{}", label,
                                          target.name, first.rule, first.kernel, first.line, more)};
}

}  // namespace

Result<compiler::Target> target_of(const Driver& driver, const DeviceFacts& facts) {
  auto target = driver.prefix() == "cuda" ? compiler::target_for_capability(facts.capability)
                                          : compiler::find_target(facts.architecture);
  // A later minor version may have less shared memory than the one its code is made for.
  if (target.ok()) target->shared_bytes = std::min(target->shared_bytes, facts.shared_per_block);
  if (target.ok() && !driver.maps()) target->warpgroups = false;
  return target;
}

Result<compiler::Artifact> Kernels::artifact_of(const device::Launch& launch, std::string_view operator_name) const {
  compiler::Source source;
  source.label = label_of(launch, operator_name);
  source.text = launch.source;
  const std::vector<compiler::Header> included = headers();
  source.headers = included;
  auto cache = compiler::Cache::open();
  if (!cache.ok()) return cache.status();
  return cache->get(source, target_);
}

Result<double> Kernels::compile_seconds(const Call& call, const device::Machinery& machinery) const {
  auto program = device::plan(call, machinery);
  if (!program.ok()) return program.status();
  double seconds = 0;
  for (const device::Launch& launch : program->launches) {
    auto artifact = artifact_of(launch, call.contract->name);
    if (!artifact.ok()) return artifact.status();
    seconds += artifact->manifest.build_seconds;
  }
  return seconds;
}

Result<Function*> Kernels::get(const device::Launch& launch, std::string_view operator_name) {
  const std::string name = fmt::format("{}\n{}", launch.kernel, launch.source);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = functions_.find(name); found != functions_.end()) return found->second;
  }

  auto artifact = artifact_of(launch, operator_name);
  if (!artifact.ok()) return artifact.status();
  const std::string label = label_of(launch, operator_name);
  if (Status s = audited(artifact.value(), target_, label); !s.ok()) return s;
  auto function = context_.function(artifact->manifest.binary_digest, artifact->binary, launch.kernel);
  if (!function.ok()) return function.status();
  const std::lock_guard lock(mutex_);
  if (functions_.emplace(name, function.value()).second)
    loaded_.push_back(device::facts_of(artifact.value(), label, device::kNothingForbidden));
  return function.value();
}

std::vector<KernelFacts> Kernels::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

Status Kernels::compile_ahead(const std::vector<Call>& calls, const device::Machinery& machinery,
                              const CompileProgress& progress) const {
  return device::compile_ahead(calls, machinery, headers(), target_, progress);
}

}  // namespace tokitai::gpu

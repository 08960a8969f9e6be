#include "machines/device/compile_ahead.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <set>

#include "base/at_once.h"
#include "compiler/cache.h"

namespace tokitai::device {

Status compile_ahead(const std::vector<Call>& calls, const Machinery& machinery,
                     std::span<const compiler::Header> headers, const compiler::Target& as,
                     const CompileProgress& progress) {
  auto cache = compiler::Cache::open();
  if (!cache.ok()) return cache.status();
  std::vector<compiler::Source> sources;
  std::set<std::string> known;
  for (const Call& call : calls) {
    auto program = plan(call, machinery);
    if (!program.ok()) return program.status();
    for (Launch& launch : program->launches)
      if (known.insert(launch.source).second)
        sources.push_back(
            {fmt::format("{} {}", call.contract->name, launch.kernel), std::move(launch.source), headers, {}});
  }
  std::mutex mutex;
  std::size_t done = 0;
  Status first;
  std::atomic<bool> useless = false;  // nothing can be stored: whoever runs a kernel would compile it again
  base::at_once(sources.size(), [&](std::size_t i) {
    if (useless) return;
    const auto artifact = cache->get(sources[i], as);
    const std::lock_guard lock(mutex);
    if (!artifact.ok() && first.ok()) first = artifact.status();
    if (artifact.ok() && !artifact->note.empty()) useless = true;
    if (progress) progress(++done, sources.size());
  });
  return first;
}

KernelFacts facts_of(const compiler::Artifact& artifact, const std::string& label, const std::string& audit) {
  const compiler::Manifest& m = artifact.manifest;
  return {label, m.target, m.source_digest, m.toolchain, m.command, m.binary_digest, audit};
}

}  // namespace tokitai::device

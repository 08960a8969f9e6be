#include "compiler/audit.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/audit_text.h"

namespace tokitai::compiler {

std::vector<Finding> audit(const Artifact& artifact, const Target& target) {
  const bool atomics = artifact.manifest.integer_atomics;
  TextAudit text = target.vendor == Vendor::nvidia ? audit_ptx(artifact.text, atomics, artifact.manifest.hopper_sums)
                                                   : audit_amd(artifact.text, atomics);
  std::vector<Finding>& findings = text.findings;
  // To have looked at nothing is not to have found nothing.
  if (text.kernels.empty()) findings.push_back({"", "no kernel", "the text defines no kernel"});
  for (const std::string& kernel : text.kernels)
    if (std::none_of(artifact.resources.begin(), artifact.resources.end(),
                     [&](const Resources& one) { return one.kernel == kernel; }))
      findings.push_back({kernel, "no figures", "the assembler said nothing of its registers and memory"});
  for (const Resources& one : artifact.resources) {
    if (one.spill_bytes != 0)
      findings.push_back({one.kernel, "spilled registers", fmt::format("{} bytes of spills", one.spill_bytes)});
    if (one.local_bytes != 0)
      findings.push_back({one.kernel, "local memory", fmt::format("{} bytes a thread", one.local_bytes)});
    if (one.shared_bytes > target.shared_bytes)
      findings.push_back({one.kernel, "shared memory",
                          fmt::format("{} bytes, the target has {}", one.shared_bytes, target.shared_bytes)});
  }
  return std::move(findings);
}

}  // namespace tokitai::compiler

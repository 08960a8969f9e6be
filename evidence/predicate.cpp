#include "evidence/predicate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "machines/device/plan.h"
#include "machines/gpu/driver.h"

namespace tokitai::evidence {
namespace {

template <class Figures> std::optional<Figures> of(const std::vector<Figures>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Figures& one) { return one.name == name; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::vector<std::string> non_claims_of(std::string_view device) {
  std::vector<std::string> all = {
      "What was not run is not shown: the problems listed are a sample of all inputs.",
      "The compilers, the processor, the driver and the operating system are trusted to do what they say.",
      "A signature says who vouches for this file, not that what it says is true; replaying it shows that."};
  if (device.starts_with("lockstep"))
    all.emplace_back("The kernels' text ran on the CPU; nothing here was run on a GPU.");
  if (gpu::names_gpu(device))
    all.emplace_back(
        "The device was compared with the cpu device, which is verified against the reference on its own.");
  return all;
}

NamedDigests proved_functions() {
  NamedDigests all;
  for (const device::Text& text : device::device_headers())
    if (text.name.starts_with("machines/device/place") || text.name.ends_with("_shape.h"))
      all.emplace_back(text.name, source_digest(text.name));
  return all;
}

Predicate make_predicate(const VerifyResult& result, const Device& device, std::string_view against,
                         const std::vector<KernelFacts>& kernels, const std::vector<ErrorFigures>& errors,
                         const std::vector<SpeedFigures>& speeds) {
  Predicate p;
  p.tokitai = library_version();
  p.made = time_now();
  p.device = device.name();
  p.machine = machine_facts();
  // The cpu device is run in many ways, so its own description is only one of them.
  p.description = device.name() == "cpu" ? p.machine.processor : device.description();
  p.against = against;
  p.variants = result.variants;
  p.build = build_facts();
  std::set<std::string> known;
  for (const KernelFacts& kernel : kernels)
    if (known.insert(kernel.artifact_digest).second) p.kernels.push_back(kernel);
  for (const OperatorResult& one : result.operators) {
    const Contract& contract = *find_contract(one.name);
    p.operators.push_back({one,
                           std::string(contract.summary),
                           contract_digest(contract),
                           source_digest(definition_path(contract)),
                           claims_of(contract),
                           {contract.non_claims.begin(), contract.non_claims.end()},
                           of(errors, one.name),
                           of(speeds, one.name)});
  }
  p.problems = result.problems;
  p.non_claims = non_claims_of(p.device);
  return p;
}

}  // namespace tokitai::evidence

// Compiles what calls will need before they run: the kernel cache then has it, and running them only loads it. And
// where a compiled kernel comes from, as a device tells it.
#pragma once
#include <span>
#include <vector>

#include "compiler/compiler.h"
#include "machines/device/plan.h"
#include "tokitai/device.h"

namespace tokitai::device {

// Plans every call and compiles each different kernel once, on every core. The calls have passed their contract's
// check. `as` is the target that the plans' text is compiled for. The first failure comes back; the other kernels are
// compiled all the same.
Status compile_ahead(const std::vector<Call>& calls, const Machinery& machinery,
                     std::span<const compiler::Header> headers, const compiler::Target& as,
                     const CompileProgress& progress);

// What a kernel's facts say of its audit. One that the audit finds something in is never loaded.
inline constexpr const char* kNothingForbidden = "nothing forbidden was found";
inline constexpr const char* kCheckedAsItRan = "none: every access was checked as it ran";

KernelFacts facts_of(const compiler::Artifact& artifact, const std::string& label, const std::string& audit);

}  // namespace tokitai::device

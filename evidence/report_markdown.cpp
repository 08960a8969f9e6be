#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "evidence/objections.h"
#include "evidence/report_text.h"
#include "reports/page.h"

namespace tokitai::evidence {

OperatorResult total(const Predicate& predicate) {
  OperatorResult all;
  for (const OperatorEvidence& one : predicate.operators) {
    all.problems += one.result.problems;
    all.runs += one.result.runs;
    all.compared += one.result.compared;
    all.mismatches += one.result.mismatches;
    all.failed += one.result.failed;
    all.checks.accesses += one.result.checks.accesses;
    all.checks.findings += one.result.checks.findings;
  }
  return all;
}

std::string verdict(const Predicate& predicate) {
  const OperatorResult all = total(predicate);
  if (all.failed != 0 || all.mismatches != 0)
    return fmt::format("{} of {} outputs compared differ; {} of {} runs failed.", grouped(all.mismatches),
                       grouped(all.compared), grouped(all.failed), grouped(all.runs));
  const Status status = judged(predicate);
  return fmt::format("All {} outputs compared are equal, bit for bit{}.", grouped(all.compared),
                     status.ok() ? "" : fmt::format("; but {}", status.message()));
}

std::string error_sentence(const ErrorFigures& f) {
  return fmt::format(
      "Of {} f16 outputs measured the furthest is {:.4g} units in the last place from the real-number result. The "
      "derived "
      "bound reaches {:.4g}; it is exceeded {} times, and at the tightest {:.0f} % of it is used.",
      grouped(f.outputs), f.worst_ulp, f.bound_ulp, grouped(f.exceeded), 100 * f.tightest);
}

std::string speed_sentence(const SpeedFigures& f) {
  std::string text = fmt::format("{}: {:.3g} ms", f.problem, 1e3 * f.seconds);
  if (!f.compute_bound())
    text +=
        fmt::format(", {:.1f} GB/s, {:.0f} % of the copy bandwidth of the same run", f.gb_per_s(), f.percent_of_copy());
  if (f.flops > 0) text += fmt::format(", {:.1f} GFLOP/s", f.gflop_per_s());
  return text + fmt::format(" (median of {}).", f.repetitions);
}

std::string speed_cell(const SpeedFigures& f) {
  return f.compute_bound() ? fmt::format("{:.1f} GFLOP/s", f.gflop_per_s())
                           : fmt::format("{:.0f} % of copy", f.percent_of_copy());
}

std::string report_markdown(const Predicate& p) {
  const OperatorResult all = total(p);
  std::string out = fmt::format("# Tokitai evidence: {}\n\n{}\n\n", p.device, verdict(p));
  out += fmt::format("{} ({}), compared with the {} machine. {} problems, {} runs. Made {} by tokitai {}.\n\n",
                     p.device, p.description, p.against, grouped(all.problems), grouped(all.runs), p.made, p.tokitai);
  out += "| operator | problems | outputs compared | differing | worst error, ulp | speed | contract |\n";
  out += "|---|--:|--:|--:|--:|--:|---|\n";
  for (const OperatorEvidence& one : p.operators)
    out += fmt::format("| {} | {} | {} | {} | {} | {} | `{}` |\n", one.result.name, grouped(one.result.problems),
                       grouped(one.result.compared), grouped(one.result.mismatches),
                       one.error ? fmt::format("{:.4g}", one.error->worst_ulp) : "-",
                       one.speed ? speed_cell(*one.speed) : "-", short_digest(one.contract_digest));
  for (const OperatorEvidence& one : p.operators) {
    out += fmt::format("\n## {}\n\n{}\n\n", one.result.name, one.summary);
    out += fmt::format("Claims:\n\n- {}\n\nDoes not claim:\n\n- {}\n\n", fmt::join(one.claims, "\n- "),
                       fmt::join(one.non_claims, "\n- "));
    if (one.error) out += error_sentence(*one.error) + "\n\n";
    if (one.speed) out += speed_sentence(*one.speed) + "\n\n";
    if (!one.result.first_failure.empty()) out += fmt::format("First failure: {}\n\n", one.result.first_failure);
    out += fmt::format("Contract sha256 `{}`, definition sha256 `{}`.\n", one.contract_digest, one.definition_digest);
  }
  out += fmt::format("\n## How it was run\n\nProblems in these ways, each where it applies:\n\n- {}\n\n",
                     fmt::join(p.variants, "\n- "));
  out += fmt::format(
      "| | |\n|---|---|\n| processor | {}, {} cores |\n| system | {} |\n| compiler | {} |\n| flags | `{}` |\n",
      p.machine.processor, p.machine.cores, p.machine.system, p.build.compiler, p.build.flags);
  out += fmt::format("| program sha256 | `{}` |\n", p.build.binary_digest);
  if (!p.kernels.empty()) {
    out += "\n| kernel | target | compiler | audit | sha256 |\n|---|---|---|---|---|\n";
    for (const KernelFacts& k : p.kernels)
      out += fmt::format("| {} | {} | {} | {} | `{}` |\n", k.label, k.target, k.toolchain, k.audit,
                         short_digest(k.artifact_digest));
  }
  if (p.proofs) {
    out += fmt::format(
        "\n## Proofs\n\nClaims about the GPU patterns' index arithmetic, for all sizes, decided by {}.\n\n"
        "| pattern | plans | claims | proved | seconds | slowest |\n|---|---|---|---|---|---|\n",
        p.proofs->solver);
    for (const ProofFigures& one : p.proofs->patterns)
      out += fmt::format("| {} | {} | {} | {} | {:.1f} | {:.2f} |\n", one.name, one.plans, one.claims, one.proved,
                         one.seconds, one.slowest_seconds);
  }
  out += fmt::format("\n## What this does not show\n\n- {}\n", fmt::join(p.non_claims, "\n- "));
  out +=
      "\nevidence.json lists every problem with the digests of its inputs and outputs. `tokitai audit evidence.json "
      "--replay` runs them again.\n";
  return base::printable(out);
}

}  // namespace tokitai::evidence

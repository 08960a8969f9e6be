#include "cli/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "accuracy/accuracy.h"
#include "bench/figures.h"
#include "cli/proof_evidence.h"
#include "evidence/bundle.h"
#include "evidence/objections.h"
#include "proofs/prover.h"

namespace tokitai::cli {

void ReportChoice::add_to(CLI::App& command) {
  command.add_option("--report", folder, "write evidence.json, report.md and report.html to this folder")
      ->type_name("DIR");
  command.add_option("--sign", key, "sign evidence.json with this private key (see tokitai key)")->type_name("FILE");
  command.add_flag_callback(
      "--no-figures", [this] { figures = false; },
      "leave true errors and speeds out of the report: saves half a minute");
  command.add_flag("--prove", proofs, "put what tokitai prove finds into the report: takes a minute");
}

Result<ReportWriter> ReportChoice::prepare(std::string_view device, FileUses& files) const {
  if (!wanted()) {
    if (!key.empty() || !figures || proofs)
      return Status::invalid("--sign, --no-figures and --prove go with --report DIR");
    return ReportWriter({}, {}, {}, false, false);
  }
  std::optional<evidence::PrivateKey> signer;
  if (!key.empty()) {
    auto read = evidence::read_private_key(key);
    if (!read.ok()) return read.status();
    signer.emplace(std::move(read).value());
    files.reads("--sign", key);
    files.reads("the public key of --sign", key + ".pub");
  }
  if (proofs)
    if (const auto prover = proofs::load_prover(); !prover.ok()) return prover.status();
  auto made = MadeFolder::make(folder);
  if (!made.ok()) return made.status();
  for (const char* name : {evidence::kEvidenceFile, evidence::kReportFiles[0], evidence::kReportFiles[1]})
    if (auto there = files.writes("--report", (std::filesystem::path(folder) / name).string()); !there.ok())
      return there.status();
  // Lockstep checks what a GPU would do, on the CPU: its times say nothing, and its bits are the cpu device's.
  return ReportWriter(folder, std::move(made).value(), std::move(signer), figures && !device.starts_with("lockstep"),
                      proofs);
}

namespace {

// Of the half-precision outputs, which is what the operators are for; docs/accuracy.md has all of them.
evidence::ErrorFigures figures_of(const evidence::OperatorAccuracy& all) {
  std::vector<evidence::OutputAccuracy> half;
  for (const evidence::OutputAccuracy& output : all.by_output)
    if (output.type == Type::f16) half.push_back(output);
  const evidence::AccuracyFigures a = evidence::together(half);
  // One edge more than bins: the first bin is exactly 0, and the last one ends with the worst error.
  std::vector<double> edges{0.0};
  edges.insert(edges.end(), evidence::kUlpEdges.begin(), evidence::kUlpEdges.end());
  edges.push_back(std::max(a.worst_ulp, evidence::kUlpEdges.back()));
  return {all.name,          a.outputs,  a.exceeded, a.worst_ulp,
          a.worst_bound_ulp, a.tightest, edges,      {a.histogram.begin(), a.histogram.end()}};
}

// True errors of the operators that were verified, on the device itself.
Result<std::vector<evidence::ErrorFigures>> error_figures(const std::vector<std::string>& operators,
                                                          evidence::Variant& variant, ProgressLine& progress) {
  auto problems = problems::for_use(problems::Use::accuracy);
  if (!problems.ok()) return problems.status();
  std::erase_if(problems.value(), [&](const problems::Problem& problem) {
    return std::find(operators.begin(), operators.end(), problem.contract->name) == operators.end();
  });
  std::vector<evidence::Variant> one{variant};
  const Status compiled = evidence::compile_ahead(problems.value(), one, [&](std::size_t done, std::size_t all) {
    progress.say(fmt::format("{} of {} kernels", done, all));
  });
  if (!compiled.ok()) return compiled;
  auto measured = evidence::accuracy(
      problems.value(), variant.device, [&](const problems::Problem& problem, std::size_t done, std::size_t all) {
        progress.say(fmt::format("true errors: {} of {}  {}", done, all, problem.text()));
      });
  if (!measured.ok()) return measured.status();
  std::vector<evidence::ErrorFigures> figures;
  for (const evidence::OperatorAccuracy& one_operator : measured.value()) figures.push_back(figures_of(one_operator));
  return figures;
}

}  // namespace

Status ReportWriter::make(const evidence::VerifyResult& result, std::vector<evidence::Variant>& variants,
                          std::string_view against, ProgressLine& progress) {
  std::vector<KernelFacts> kernels;
  for (const evidence::Variant& variant : variants)
    for (const KernelFacts& kernel : variant.device.kernels()) kernels.push_back(kernel);
  std::vector<evidence::ErrorFigures> errors;
  std::vector<evidence::SpeedFigures> speeds;
  if (figures_) {
    std::vector<std::string> names;
    for (const evidence::OperatorResult& one : result.operators) names.push_back(one.name);
    auto device = open(variants.front().device.name());
    if (!device.ok()) return device.status();
    auto measured = bench::speed_figures(names, device.value(), [&](const std::string& what) { progress.say(what); });
    if (!measured.ok()) return measured.status();
    speeds = std::move(measured).value();
    auto found = error_figures(names, variants.front(), progress);
    if (!found.ok()) return found.status();
    errors = std::move(found).value();
  }
  evidence::Predicate predicate =
      evidence::make_predicate(result, variants.front().device, against, kernels, errors, speeds);
  if (proofs_) {
    auto proofs = proof_evidence(progress);
    if (!proofs.ok()) return proofs.status();
    predicate.proofs = std::move(proofs).value();
  }
  for (const evidence::ReportFile& file : evidence::bundle(predicate, key_ ? &*key_ : nullptr)) {
    auto path = destination((std::filesystem::path(folder_) / file.name).string());
    if (!path.ok()) return path.status();
    files_.push_back({"", path.value(), file.text});
    files_text_ +=
        fmt::format("{}{}", files_text_.empty() ? "" : ", ", (std::filesystem::path(folder_) / file.name).string());
  }
  files_text_ += key_ ? fmt::format("; signed with key {}", key_->public_key().id()) : "; not signed";
  judged_ = evidence::judged(predicate);
  return {};
}

}  // namespace tokitai::cli

#include "cli/verify_report.h"

#include <fmt/format.h>

#include <filesystem>

#include "bench/figures.h"
#include "cli/output_files.h"
#include "evidence/bundle.h"

namespace tokitai::cli {

void ReportChoice::add_to(CLI::App& command) {
  command.add_option("--report", folder, "write evidence.json, report.md and report.html to this folder")
      ->type_name("DIR");
  command.add_option("--sign", key, "sign evidence.json with this private key (see tokitai key)")->type_name("FILE");
  command.add_flag("--figures", figures, "also time one problem of each operator, for the report: some seconds");
}

Result<ReportWriter> ReportChoice::prepare(std::string_view device) const {
  if (!wanted()) {
    if (!key.empty() || figures) return Status::invalid("--sign and --figures go with --report DIR");
    return ReportWriter({}, {}, false);
  }
  if (figures && device.starts_with("lockstep"))
    return Status::invalid("--figures: lockstep checks what a GPU would do, on the CPU; its times say nothing");
  std::optional<evidence::PrivateKey> signer;
  if (!key.empty()) {
    auto read = evidence::read_private_key(key);
    if (!read.ok()) return read.status();
    signer.emplace(std::move(read).value());
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::invalid(fmt::format("cannot make the folder {}: {}", folder, error.message()));
  if (auto there = destination((std::filesystem::path(folder) / "evidence.json").string()); !there.ok())
    return there.status();
  return ReportWriter(folder, std::move(signer), figures);
}

Status ReportWriter::write(const evidence::VerifyResult& result, std::vector<evidence::Variant>& variants,
                           std::string_view against, ProgressLine& progress) {
  std::vector<KernelFacts> kernels;
  for (const evidence::Variant& variant : variants)
    for (const KernelFacts& kernel : variant.device.kernels()) kernels.push_back(kernel);
  std::vector<evidence::SpeedFigures> speeds;
  if (figures_) {
    std::vector<std::string> names;
    for (const evidence::OperatorResult& one : result.operators) names.push_back(one.name);
    auto device = open(variants.front().device.name());
    if (!device.ok()) return device.status();
    auto measured = bench::speed_figures(names, device.value(), [&](const std::string& what) { progress.say(what); });
    if (!measured.ok()) return measured.status();
    speeds = std::move(measured).value();
  }
  const evidence::Predicate predicate =
      evidence::make_predicate(result, variants.front().device, against, kernels, {}, speeds);
  std::vector<OutputFile> files;
  for (const evidence::ReportFile& file : evidence::bundle(predicate, key_ ? &*key_ : nullptr)) {
    auto path = destination((std::filesystem::path(folder_) / file.name).string());
    if (!path.ok()) return path.status();
    files.push_back({"", path.value(), file.text});
    files_text_ +=
        fmt::format("{}{}", files_text_.empty() ? "" : ", ", (std::filesystem::path(folder_) / file.name).string());
  }
  files_text_ += key_ ? fmt::format("; signed with key {}", key_->public_key().id()) : "; not signed";
  return write_all(files);
}

}  // namespace tokitai::cli

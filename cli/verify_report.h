// The options of `tokitai verify` that leave evidence behind, and making it.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "cli/progress_line.h"
#include "evidence/key.h"
#include "evidence/verify.h"

namespace tokitai::cli {

class ReportWriter {
 public:
  ReportWriter(std::string folder, MadeFolder made, std::optional<evidence::PrivateKey> key, bool figures, bool proofs)
      : folder_(std::move(folder)), made_(std::move(made)), key_(std::move(key)), figures_(figures), proofs_(proofs) {}
  Status make(const evidence::VerifyResult& result, std::vector<evidence::Variant>& variants, std::string_view against,
              ProgressLine& progress);
  const std::vector<OutputFile>& files() const { return files_; }  // to be written
  const std::string& files_text() const { return files_text_; }    // for people
  const Status& judged() const { return judged_; }                 // what it says against itself

 private:
  std::string folder_, files_text_;
  MadeFolder made_;
  std::vector<OutputFile> files_;
  std::optional<evidence::PrivateKey> key_;
  bool figures_, proofs_;
  Status judged_;
};

struct ReportChoice {
  std::string folder, key;
  bool figures = true, proofs = false;

  void add_to(CLI::App& command);
  bool wanted() const { return !folder.empty(); }
  // Refuses what could not be written or signed, before minutes are spent on verifying.
  Result<ReportWriter> prepare(std::string_view device, FileUses& files) const;
};

}  // namespace tokitai::cli

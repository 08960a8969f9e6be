// The options of `tokitai verify` that leave evidence behind, and writing it.
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
  ReportWriter(std::string folder, std::optional<evidence::PrivateKey> key, bool figures, bool proofs)
      : folder_(std::move(folder)), key_(std::move(key)), figures_(figures), proofs_(proofs) {}
  Status write(const evidence::VerifyResult& result, std::vector<evidence::Variant>& variants, std::string_view against,
               ProgressLine& progress);
  const std::string& files_text() const { return files_text_; }  // what was written, for people
  const Status& judged() const { return judged_; }               // what it says against itself

 private:
  std::string folder_, files_text_;
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

#include "cli/result_files.h"

#include "cli/output_files.h"

namespace tokitai::cli {

void ResultFiles::add_to(CLI::App& command) {
  command.add_option("--json", json, "write the result as JSON to this file (- for standard output)");
  command.add_option("--markdown", markdown, "write the tables as Markdown to this file (- for standard output)");
}

Status ResultFiles::writable() const {
  FileUses files;
  if (Status s = files.writes_text("--json", json); !s.ok()) return s;
  return files.writes_text("--markdown", markdown);
}

Status ResultFiles::write(const Json& document, const std::string& tables) const {
  std::vector<OutputFile> files;
  if (Status s = add_text(files, json, dumped(document)); !s.ok()) return s;
  if (Status s = add_text(files, markdown, tables); !s.ok()) return s;
  return write_all(files);
}

}  // namespace tokitai::cli

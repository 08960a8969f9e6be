// What the compilers that are programs share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/program.h"
#include "compiler/build.h"

namespace tokitai::compiler {

namespace fs = std::filesystem;

std::vector<std::string> bare_environment(const fs::path& folder) {
  std::vector<std::string> out{"LC_ALL=C", "TMPDIR=" + folder.string()};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"})  // to find itself, its libraries and its linker
    if (const std::string value = base::environment(name); !value.empty())
      out.push_back(fmt::format("{}={}", name, value));
  return out;
}

Result<std::string> output_of(std::vector<std::string> command, const std::string& variable) {
  base::Process process{.command = std::move(command), .folder = "/", .environment = bare_environment("/tmp")};
  if (!variable.empty()) process.environment.push_back(variable);
  auto ended = base::run(process);
  if (!ended.ok()) return ended.status();
  if (ended->exit_code != 0)
    return Status(Code::unavailable, fmt::format("{} failed with exit code {}: {}", fmt::join(process.command, " "),
                                                 ended->exit_code, ended->output.substr(0, ended->output.find('\n'))));
  return std::move(ended->output);
}

Status write_bundle(const fs::path& folder, const Prepared& prepared, const char* main_file) {
  for (const Header& header : prepared.headers) {
    const fs::path path = folder / header.name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (Status status = base::write_file(path, header.text); !status.ok()) return status;
  }
  return base::write_file(folder / main_file, prepared.source->text);
}

}  // namespace tokitai::compiler

#include "loader/folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <regex>

#include "base/files.h"
#include "base/lines.h"
#include "loader/lines.h"
#include "loader/texts.h"

namespace tokitai::loader {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLargestText = 1 << 20;

Status trusted(const fs::path& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0)
    return Status::invalid(fmt::format("{}: there is no such folder of operators", path.string()));
  if (!S_ISDIR(about.st_mode)) return Status::invalid(fmt::format("{} is no folder", path.string()));
  const std::string others = base::changeable_by(about);
  if (others.empty()) return {};
  return Status::invalid(
      fmt::format("{}: operators are not loaded from it: {}, and whoever can write there decides "
                  "what code runs here (chmod go-w)",
                  path.string(), others));
}

Result<std::string> text_at(const fs::path& path) {
  auto text = base::read_own_file(path);
  if (!text.ok()) return Status::invalid(text.status().message());
  if (text->size() > kLargestText)
    return Status::invalid(
        fmt::format("{}: it has {} bytes; at most {} are read", path.string(), text->size(), kLargestText));
  if (text->find('\0') != std::string::npos) return Status::invalid(fmt::format("{}: it is no text", path.string()));
  return text;
}

// It may include what travels in the binary: other files would not be in the digest that its kernels are kept under,
// and a GPU's compiler has none.
Status own_includes(const Folder& folder) {
  static const std::regex include("^\\s*(#|%:)\\s*include(_next)?\\b\\s*(.*?)\\s*$");
  static const std::regex named("^[\"<]([^\">]*)[\">]");
  int number = 0;
  Status status;
  base::for_each_line(folder.definition_text, [&](std::string_view line) {
    ++number;
    std::cmatch found;
    if (!status.ok() || !std::regex_match(line.data(), line.data() + line.size(), found, include)) return;
    const std::string what = found[3];
    std::smatch name;
    if (std::regex_search(what, name, named))
      for (const compiler::Header& header : headers())
        if (header.name == name[1].str()) return;
    status = Line{folder.definition_path(), number, {}}.refuse(
        "it includes {}; a definition may include patterns/*.h and numerics/*.h, and nothing else", what);
  });
  return status;
}

bool has(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

Result<std::vector<fs::path>> folders_at(const fs::path& path) {
  if (Status s = trusted(path); !s.ok()) return s;
  if (has(path / "contract.txt")) return std::vector{path};
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (has(at->path() / "contract.txt")) found.push_back(at->path());
  if (found.empty())
    return Status::invalid(fmt::format("{}: neither it nor a folder in it has a contract.txt", path.string()));
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::unique_ptr<Folder>> read_folder(const fs::path& path) {
  if (Status s = trusted(path); !s.ok()) return s;
  auto folder = std::make_unique<Folder>();
  folder->path = path;
  auto contract = text_at(folder->contract_path());
  if (!contract.ok()) return contract.status();
  folder->contract_text = std::move(contract).value();
  if (Status s = read_contracts(folder->contract_text, folder->contract_path(), folder->contracts); !s.ok()) return s;
  auto definition = text_at(folder->definition_path());
  if (!definition.ok()) return definition.status();
  folder->definition_text = std::move(definition).value();
  if (Status s = own_includes(*folder); !s.ok()) return s;
  auto problems = text_at(path / "problems.txt");
  if (!problems.ok()) return problems.status();
  folder->problems = std::move(problems).value();
  if (has(path / "peer.py")) {
    auto peer = text_at(path / "peer.py");
    if (!peer.ok()) return peer.status();
    folder->peer = std::move(peer).value();
  }
  return folder;
}

std::string written(const Folder& folder) {
  std::string out;
  for (const std::string& part :
       {folder.path.string(), folder.contract_text, folder.definition_text, folder.problems, folder.peer})
    out += fmt::format("{}\n{}", part.size(), part);
  return out;
}

Result<std::unique_ptr<Folder>> read_written(std::string_view text) {
  std::array<std::string, 5> parts;
  for (std::string& part : parts) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc() || !text.starts_with('\n') || length > text.size() - 1)
      return Status(Code::internal, "a folder of operators that was handed over cannot be read");
    part = text.substr(1, length);
    text.remove_prefix(1 + length);
  }
  auto folder = std::make_unique<Folder>();
  folder->path = parts[0];
  folder->contract_text = parts[1];
  folder->definition_text = parts[2];
  folder->problems = parts[3];
  folder->peer = parts[4];
  if (Status s = read_contracts(folder->contract_text, folder->contract_path(), folder->contracts); !s.ok()) return s;
  return folder;
}

Definition definition_of(const Folder& folder) {
  const std::string family(folder.contracts.all.front().contract.family());
  Definition out;
  out.path = folder.definition_path();
  out.header = fmt::format("operators/{}/definition.h", family);
  out.text = fmt::format(
      "#pragma once\n#line 1 \"contract.txt\"\n#include \"numerics/elementary.h\"\n#include \"patterns/names.h\"\n"
      "#include \"patterns/reduction.h\"\nnamespace tokitai::{} {{\n",
      family);
  for (const WrittenContract& one : folder.contracts.all) {
    out.text += base_text(one);
    out.structs.push_back(definition_name(one.contract));
  }
  out.text += fmt::format("}}\n#line 1 \"{}\"\n{}", out.header, folder.definition_text);
  return out;
}

int line_of(const Folder& folder, const Contract& contract, std::string_view operand, bool written) {
  const std::regex begins(fmt::format("struct\\s+{}\\b", struct_name(contract)));
  const std::regex asks(fmt::format("{}\\w*\\s*\\([^;]*\\b\\w+[.:]+{}\\b",
                                    written ? "(store|put|keep|column_sums|scatter|gather|product)"
                                            : "(load|read|columns|number|integer|gather|scatter|product|once)",
                                    operand));
  const std::regex mentions(fmt::format("[.:]{}\\b", operand));
  int number = 0, begun = 0, mentioned = 0, asked = 0;
  base::for_each_line(folder.definition_text, [&](std::string_view line) {
    ++number;
    const std::string text(line);
    if (std::regex_search(text, begins))
      begun = number;
    else if (begun != 0 && text.find("struct ") != std::string::npos && text.find(':') != std::string::npos)
      begun = -1;
    if (begun <= 0) return;
    if (asked == 0 && std::regex_search(text, asks)) asked = number;
    if (mentioned == 0 && std::regex_search(text, mentions)) mentioned = number;
  });
  return asked != 0 ? asked : mentioned;
}

}  // namespace tokitai::loader

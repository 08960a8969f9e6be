// A folder of operators: its files, read and checked.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loader/contract_text.h"
#include "loader/parts.h"

namespace tokitai::loader {

struct Folder {
  std::filesystem::path path;
  Contracts contracts;
  std::string contract_text, definition_text, problems, peer;  // as the user wrote them
  std::string contract_path() const { return (path / "contract.txt").string(); }
  std::string definition_path() const { return (path / "definition.h").string(); }
};

// The folder itself where it has a contract, else those in it that have one.
Result<std::vector<std::filesystem::path>> folders_at(const std::filesystem::path& path);

Result<std::unique_ptr<Folder>> read_folder(const std::filesystem::path& path);

// The folder as one text, and back: its files may have changed since, or be gone.
std::string written(const Folder& folder);
Result<std::unique_ptr<Folder>> read_written(std::string_view text);

// What kernels include of it, on every machine.
Definition definition_of(const Folder& folder);

// The line of definition.h where an operator reads or writes an operand; 0: not found.
int line_of(const Folder& folder, const Contract& contract, std::string_view operand, bool written);

}  // namespace tokitai::loader

// Where a subcommand's result goes: a table for people unless standard output is wanted for it, and files.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands.h"

namespace tokitai::cli {

struct ResultFiles {
  std::string json, markdown;  // a file, - for standard output, or nothing

  void add_to(CLI::App& command);
  // Asked before the work, so that a file that cannot be written is known then.
  Status writable() const;
  bool table() const { return json != "-" && markdown != "-"; }
  Status write(const Json& document, const std::string& tables) const;
};

}  // namespace tokitai::cli

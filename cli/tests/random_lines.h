// Random command lines. Commands and flags are asked of the command itself, operators and their words of the contracts,
// so that a new one is tried at once; values fit, or are odd, or are missing. A number stands for the same line
// everywhere. Paths that could be written are relative: whoever runs a line chooses the folder.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "contract/contract.h"

namespace tokitai::cli {

// A command as the generator sees it.
struct KnownCommand {
  struct Flag {
    std::string name;  // with its dashes; a positional's without
    bool takes_value;
  };
  std::vector<std::string> words;  // {"verify"}, {"key", "new"}
  std::vector<Flag> flags;
  std::vector<std::string> positionals;
};
std::vector<KnownCommand> known_commands(const CLI::App& app);

// The words of line `number`, without the program's name.
std::vector<std::string> random_line(const std::vector<KnownCommand>& commands, std::uint64_t number);

// The files that fitting values name, which a folder should hold: .npy files by type and number of dimensions.
std::string file_for(Type type, int rank);

}  // namespace tokitai::cli

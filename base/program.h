// A program run to its end: no shell, no input, its output kept, killed with its children when time is up.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/status.h"

namespace tokitai::base {

struct Process {
  std::vector<std::string> command;  // the first is the program's path
  std::filesystem::path folder;      // where it runs
  std::vector<std::string> environment;
  std::chrono::seconds limit{600};
};

struct Ended {
  int exit_code = 0;   // 128 and the signal's number where a signal ended it
  std::string output;  // standard output and error, the first MiB
};

Result<Ended> run(const Process& process);

// The program of that name in PATH, or at that path; empty where there is none.
std::filesystem::path find_program(std::string_view name);

// An environment variable, empty where it is not set.
std::string environment(const char* name);

}  // namespace tokitai::base

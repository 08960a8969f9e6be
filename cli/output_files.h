// Output files that appear together or not at all: each is written whole to a temporary beside its destination,
// and only when all are on disk are they renamed. A failure leaves every file as it was.
#pragma once
#include <string>
#include <vector>

#include "cli/npy.h"
#include "tokitai/status.h"

namespace tokitai::cli {

struct OutputFile {
  std::string label;  // the operand, as messages name it
  std::string path;   // a destination, as `destination` gives it
  NpyHeader header;
  const void* data = nullptr;
};

// The absolute path that writing to `path` changes, links followed, or why it cannot be written. Creates nothing.
Result<std::string> destination(const std::string& path);

Status write_all(const std::vector<OutputFile>& files);

}  // namespace tokitai::cli

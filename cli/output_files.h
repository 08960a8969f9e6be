// Output files that appear together or not at all: each is written whole to a temporary beside its destination,
// and only when all are on disk are they renamed. A failure leaves every file as it was.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tokitai/status.h"

namespace tokitai::cli {

struct OutputFile {
  std::string label;           // the operand, as messages name it; may be empty
  std::string path;            // a destination, as `destination` gives it
  std::string head;            // what the file begins with
  const void* data = nullptr;  // what follows
  std::int64_t bytes = 0;
};

// The absolute path that writing to `path` changes, links followed, or why it cannot be written. Creates nothing.
Result<std::string> destination(const std::string& path);

Status write_all(const std::vector<OutputFile>& files);

// One text, to that path in the same way, or to standard output where the path is "-" or empty.
Status write_text(const std::string& path, const std::string& text);

}  // namespace tokitai::cli

// Output files that appear together or not at all: each is written whole to a temporary beside its destination,
// and only when all are on disk are they renamed. A failure leaves every file as it was, and so does a signal that ends
// the process; one that comes amid the renames waits for them. A command gives all its files at once.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/status.h"

namespace tokitai::cli {

inline constexpr const char* kStandardOutput = "-";  // as a path: a text that is printed when the files are there

struct OutputFile {
  std::string label;           // the operand, as messages name it; may be empty
  std::string path;            // a destination, as `destination` gives it, or kStandardOutput
  std::string head;            // what the file begins with
  const void* data = nullptr;  // what follows
  std::int64_t bytes = 0;
};

// The absolute path that writing to `path` changes, links followed, or why it cannot be written. Creates nothing.
Result<std::string> destination(const std::string& path);

Status write_all(const std::vector<OutputFile>& files);

// One more of a command's files: a text, which goes nowhere where the path is empty.
Status add_text(std::vector<OutputFile>& files, const std::string& path, std::string text);
// The only one of a command.
Status write_text(const std::string& path, std::string text);

// A folder for files to come, made where it is missing together with those above it. What was made and holds nothing
// in the end, because nothing was written, is taken away again.
class MadeFolder {
 public:
  static Result<MadeFolder> make(const std::string& path);
  MadeFolder() = default;
  MadeFolder(MadeFolder&&) = default;
  MadeFolder& operator=(MadeFolder&&) = default;
  ~MadeFolder();

 private:
  std::vector<std::string> made_;  // the deepest last
};

// The files of one command, asked for before any of them is written: two outputs at one place, or an output where
// something else is read from, would lose one of them without a word.
class FileUses {
 public:
  // `what` reads that file.
  void reads(const std::string& what, const std::string& path);
  // Where `what` writes, or why it cannot. `over`: what it may replace the file of, beside its own.
  Result<std::string> writes(const std::string& what, const std::string& path,
                             const std::vector<std::string>& over = {});
  // The same for a text, which goes nowhere where the path is empty and to standard output where it is "-".
  Status writes_text(const std::string& what, const std::string& path);

 private:
  Status take(const std::string& what, const std::string& where, const std::string& path);
  std::map<std::string, std::string> written_;  // where, and what is written there
  std::multimap<std::string, std::string> read_;
};

}  // namespace tokitai::cli

// Files and folders, without exceptions.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tokitai/status.h"

namespace tokitai::base {

// An open file, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  void close();

 private:
  int number_;
};

// A regular file, open to be read. Whatever else has that name is refused, and nothing is waited for: opening a FIFO
// waits for its other end, and reading a device need not end. The status says why, without the name.
struct OpenFile {
  Descriptor descriptor;
  struct stat about = {};
};
Result<OpenFile> open_regular(const std::filesystem::path& path);

// Larger than anything that is read whole; a sparse file may pretend to be larger than all memory.
inline constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t most = kLargestFile);

// Who beside us and root may change a file or what is in a folder, in words; nothing where nobody may.
std::string changeable_by(const struct stat& about);
// Of a file that others may change: refused.
Result<std::string> read_own_file(const std::filesystem::path& path);
Status write_file(const std::filesystem::path& path, std::string_view bytes);
// Readers see the old bytes or the new ones, whole.
Status replace_file(const std::filesystem::path& path, std::string_view bytes);

// The folder and those above it that are missing: only their owner may enter them.
Status make_own_folders(const std::filesystem::path& path);
// A new folder inside `parent` that only its owner may enter.
Result<std::filesystem::path> make_folder(const std::filesystem::path& parent, std::string_view prefix);

// Such a folder in the system's place for temporary files, removed with all that is in it at the end.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace tokitai::base

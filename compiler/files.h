// Files and folders, without exceptions.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "tokitai/status.h"

namespace tokitai::compiler {

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

Result<std::string> read_file(const std::filesystem::path& path);
Status write_file(const std::filesystem::path& path, std::string_view bytes);
// Readers see the old bytes or the new ones, whole.
Status replace_file(const std::filesystem::path& path, std::string_view bytes);

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

}  // namespace tokitai::compiler

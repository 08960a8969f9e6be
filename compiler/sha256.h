// SHA-256, in hexadecimal.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "tokitai/status.h"

namespace tokitai::compiler {

std::string sha256(std::string_view bytes);

// The digest of a list of parts. Each part is preceded by its length, so that no two lists read the same.
class PartsDigest {
 public:
  PartsDigest& add(std::string_view part);
  std::string hex() const { return sha256(bytes_); }

 private:
  std::string bytes_;
};

Result<std::string> sha256_of_file(const std::filesystem::path& path);

// The same, remembered in `memory` for as long as the file's identity, size and times stay: a compiler's library is
// 100 MiB, half a second's work. An empty `memory` remembers nothing.
Result<std::string> sha256_of_file(const std::filesystem::path& path, const std::filesystem::path& memory);

}  // namespace tokitai::compiler

// SHA-256, in hexadecimal.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tokitai/status.h"

namespace tokitai::base {

std::string sha256(std::string_view bytes);

// The digest of bytes that come in pieces; where they are cut does not matter.
class RunningSha256 {
 public:
  RunningSha256();
  ~RunningSha256();
  RunningSha256(const RunningSha256&) = delete;
  RunningSha256& operator=(const RunningSha256&) = delete;
  void add(std::string_view bytes);
  std::string hex();  // once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

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

}  // namespace tokitai::base

// The memory a caller and its worker share: one memfd of a fixed, sealed size, mapped once in both, handed out in
// whole pages. Pages are reserved when they are handed out, so that a full machine is a status and not a SIGBUS later,
// and given back to the system when they are released.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/files.h"
#include "tokitai/status.h"

namespace tokitai::server {

inline constexpr std::int64_t kPage = 4096;
inline constexpr std::int64_t kLargePage = 2 << 20;
constexpr std::int64_t whole_pages(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// A shared mapping of a part of a file, placed so that the processor's large pages can be used; nullptr: errno says
// why.
void* map_shared(int descriptor, std::int64_t offset, std::int64_t bytes);

// A shared mapping of a whole file, unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  static Result<Mapping> make(int descriptor, std::int64_t bytes);
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();
  std::byte* data() const { return data_; }
  std::int64_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

class Arena {
 public:
  static Result<std::unique_ptr<Arena>> make(std::int64_t bytes);

  int descriptor() const { return file_.get(); }
  std::int64_t size() const { return whole_.size(); }
  std::int64_t in_use() const;
  // What lies at an offset, wherever else it is mapped.
  std::byte* at(std::int64_t offset) const { return whole_.data() + offset; }

  // An offset, a multiple of the page, and of the large page where that many are asked for: then it is not right behind
  // another piece, where there is room. `bytes` is a multiple of the page and at least one.
  Result<std::int64_t> reserve(std::int64_t bytes);
  void release(std::int64_t offset, std::int64_t bytes);
  // Has what lies there moved into large pages where the system can: that takes longer than handing it out, and a step
  // of AdamW over it is then a quarter faster.
  void use_large_pages(std::int64_t offset, std::int64_t bytes) const;

 private:
  Arena() = default;
  base::Descriptor file_;
  Mapping whole_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> free_;  // offset and bytes, neighbours joined
  std::int64_t in_use_ = 0;
};

// Refuses a descriptor that is not a file of exactly that size which can no longer shrink.
Status check_shared(int descriptor, std::int64_t bytes);

}  // namespace tokitai::server

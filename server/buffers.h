// The buffers a caller holds in the shared memory. Each has a front, which its address shows, and, once a call has
// written it, a back. A worker reads fronts and writes backs; committing maps the back at the caller's address, in one
// system call that no other thread sees half done, and the old front is the next back. So no byte is copied, the
// caller's pointers stay, and until that instant nothing the caller can see has changed.
//
// Where a call writes less than half of a buffer, or little, what it wrote is copied from back to front instead.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "server/arena.h"
#include "tokitai/view.h"

namespace tokitai::server {

class Buffers {
 public:
  explicit Buffers(Arena& arena) : arena_(arena) {}
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  Result<void*> allocate(std::int64_t bytes);
  void release(void* memory);

  struct Buffer {
    std::byte* address = nullptr;
    std::int64_t bytes = 0, capacity = 0;  // asked for; in whole pages
    std::array<std::int64_t, 2> half{-1, -1};
    int front = 0;
    int uses = 0;
  };
  // The buffer that an extent lies in as a whole, or none. It stays where it is until it is released.
  Buffer* find(const void* address, std::int64_t extent);
  // Makes sure that there is a back.
  Status prepare(Buffer& buffer);
  // A call uses it. One that is used again and again is worth large pages.
  void use(Buffer& buffer) const;

  // Those bytes of the back become what the caller sees; the others stay as they were. `rows` do not overlap.
  struct Rows {
    std::int64_t begin = 0, bytes = 0, count = 1, pitch = 0;  // from the buffer's begin
  };
  void commit(Buffer& buffer, const std::vector<Rows>& written);

 private:
  void flip(Buffer& buffer, const std::vector<Rows>& written);

  Arena& arena_;
  std::mutex mutex_;
  std::map<std::uintptr_t, Buffer> all_;  // by address
};

// The bytes of a view, `offset` bytes behind the begin of what it lies in.
Buffers::Rows rows_of(const View& view, std::int64_t offset);

}  // namespace tokitai::server

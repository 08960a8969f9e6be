// The buffers a caller holds in the shared memory. Each has a front, which its address shows, and, once a call has
// written it, a back. A worker reads fronts and writes backs, so that nothing the caller can see changes; committing
// makes what was written the front, and touches no other byte: there another thread may store at any time.
//
// Where a call wrote every byte of a buffer, the back is mapped at the caller's address, in one system call that no
// other thread sees half done, and the old front is the next back: nothing is copied and the caller's pointers stay.
// Else exactly what was written is copied.
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

  // Those bytes of the back become what the caller sees; no other is written, nor read. `rows` do not overlap.
  struct Rows {
    std::int64_t begin = 0, bytes = 0, count = 1, pitch = 0;  // from the buffer's begin
  };
  void commit(Buffer& buffer, const std::vector<Rows>& written);

 private:
  bool flip(Buffer& buffer);

  Arena& arena_;
  std::mutex mutex_;
  std::map<std::uintptr_t, Buffer> all_;  // by address
};

// The bytes of a view, `offset` bytes behind the begin of what it lies in.
std::vector<Buffers::Rows> rows_of(const View& view, std::int64_t offset);

}  // namespace tokitai::server

// Callers' buffers, which work on any stream may use. The memory goes back to the stream it was allocated on, so where
// others have used it their last use is kept with it.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "machines/gpu/queue.h"

namespace tokitai::gpu {

class Buffers {
 public:
  void add(const void* memory, std::int64_t bytes, const Queue& home);
  // Host memory, which is given back to the driver: of every stream the last use counts.
  void add_pinned(const void* memory, std::int64_t bytes) { add(memory, bytes, nullptr); }
  // Work that was queued there uses what lies at these addresses.
  Status used(Queue& queue, std::span<const void* const> addresses);
  // What has to be waited for before it is used again.
  Uses remove(const void* memory);

 private:
  struct Entry {
    std::int64_t bytes;
    const Queue* home;
    Uses uses;
  };

  void add(const void* memory, std::int64_t bytes, const Queue* home);
  Entry* at(const void* address);

  std::mutex mutex_;
  std::map<const void*, Entry, std::less<>> all_;
};

}  // namespace tokitai::gpu

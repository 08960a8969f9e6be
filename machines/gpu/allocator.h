// Device memory kept for reuse by one stream. What was queued there before a block is given back is done before what is
// queued after, so a block may be handed out again at once; no other stream ever gets it. Where others have used it,
// the stream waits for them first.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "machines/gpu/driver.h"
#include "machines/gpu/stream.h"

namespace tokitai::gpu {

struct Block {
  void* data = nullptr;
  std::int64_t bytes = 0;  // of its size class
};

// Points in other streams, behind what they did with a block.
using Uses = std::vector<std::shared_ptr<Event>>;

class Allocator {
 public:
  Allocator(Driver& driver, void* stream) : driver_(driver), stream_(stream) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // The driver's error where it has no more memory. The device's context is the calling thread's here.
  Error allocate(std::int64_t bytes, Block& block);
  void release(const Block& block, Uses uses = {});
  // Everything cached, for who gives it back to the driver, after all that is queued now.
  void take(std::vector<void*>& blocks);

  std::int64_t in_use() const;
  std::int64_t cached() const;

  // The bytes a request really takes: multiples of 512 below 1 MiB and of 2 MiB above, in at most eight steps from
  // one power of two to the next, so that similar sizes share blocks and at most an eighth is lost.
  static std::int64_t size_class(std::int64_t bytes);

 private:
  struct Free {
    void* data;
    Uses uses;
  };

  Driver& driver_;
  void* const stream_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<Free>> free_;  // by size class
  std::int64_t in_use_ = 0, cached_ = 0;
};

}  // namespace tokitai::gpu

// Device memory kept for reuse. Every user works on one stream, so a block may be handed out again as soon as it is
// given back: what was queued before is done before what is queued after.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "machines/gpu/driver.h"

namespace tokitai::gpu {

struct Block {
  void* data = nullptr;
  std::int64_t bytes = 0;  // of its size class
};

class Allocator {
 public:
  explicit Allocator(Driver& driver) : driver_(driver) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // The driver's error where it has no more memory; what is cached is given back first and the call tried again.
  // The device's context is the calling thread's in each of these.
  Error allocate(std::int64_t bytes, Block& block);
  void release(const Block& block);
  // Gives everything cached back to the driver, which waits for work that uses it.
  void trim();

  std::int64_t in_use() const;
  std::int64_t cached() const;

  // The bytes a request really takes: multiples of 512 below 1 MiB and of 2 MiB above, in at most eight steps from
  // one power of two to the next, so that similar sizes share blocks and at most an eighth is lost.
  static std::int64_t size_class(std::int64_t bytes);

 private:
  void trim_locked();

  Driver& driver_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<void*>> free_;  // by size class
  std::int64_t in_use_ = 0, cached_ = 0;
};

}  // namespace tokitai::gpu

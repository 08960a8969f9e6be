// One stream of a GPU with what belongs to it alone: memory kept for reuse and slots for copies. Nothing of it is
// shared with another stream, so work on two of them needs no order but the caller's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "machines/gpu/allocator.h"
#include "machines/gpu/context.h"
#include "machines/gpu/staging.h"

namespace tokitai::gpu {

class Queue {
 public:
  Queue(Context& context, Stream stream);
  // Waits for the device: a caller's stream may be gone by now, and with it whom to ask for its work.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Context& context() { return context_; }
  Stream& stream() { return stream_; }
  Status wait() { return stream_.wait(); }
  // The point behind everything queued so far. There is one, which moves on each time: who waits for an earlier one
  // waits a little longer.
  Result<std::shared_ptr<Event>> now();

  Result<Block> allocate(std::int64_t bytes);
  void release(const Block& block, Uses uses = {});

  Status copy_in(void* device, const void* host, const Rows& rows, bool pinned);
  Status copy_out(void* host, const void* device, const Rows& rows, bool pinned);
  // Not waited for. The host's side is pinned.
  Status queue_copy_out(void* pinned, const void* device, std::int64_t bytes);
  Status queue_copy(void* to, const void* from, std::int64_t bytes);
  Status queue_fill(void* device, unsigned char byte, std::int64_t bytes);

 private:
  Context& context_;
  Stream stream_;
  Allocator allocator_;
  Staging staging_;
  std::mutex now_mutex_;
  std::shared_ptr<Event> now_;
};

// A block that is given back when this goes.
class OwnedBlock {
 public:
  OwnedBlock() = default;
  OwnedBlock(Queue& queue, const Block& block) : queue_(&queue), block_(block) {}
  ~OwnedBlock() {
    if (block_.data != nullptr) queue_->release(block_);
  }
  OwnedBlock(OwnedBlock&& other) noexcept : queue_(other.queue_), block_(std::exchange(other.block_, {})) {}
  OwnedBlock& operator=(OwnedBlock&& other) noexcept {
    std::swap(queue_, other.queue_);
    std::swap(block_, other.block_);
    return *this;
  }
  // Nothing is allocated for no bytes.
  static Result<OwnedBlock> make(Queue& queue, std::int64_t bytes) {
    if (bytes <= 0) return OwnedBlock();
    auto block = queue.allocate(bytes);
    if (!block.ok()) return block.status();
    return OwnedBlock(queue, block.value());
  }
  std::byte* data() const { return static_cast<std::byte*>(block_.data); }

 private:
  Queue* queue_ = nullptr;
  Block block_;
};

}  // namespace tokitai::gpu

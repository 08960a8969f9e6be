#include "machines/gpu/queue.h"

#include <fmt/format.h>

#include <vector>

namespace tokitai::gpu {

Queue::Queue(Context& context, Stream stream)
    : context_(context),
      stream_(std::move(stream)),
      allocator_(context.driver(), stream_.handle()),
      staging_(context.driver()) {
  context_.add(allocator_);
}

Queue::~Queue() {
  context_.remove(allocator_);
  static_cast<void>(context_.wait());
  const Entered entered(context_.driver(), context_.handle());
  staging_.close();
  std::vector<void*> blocks;
  allocator_.take(blocks);
  for (void* block : blocks) static_cast<void>(context_.driver().free(block));
}

Result<std::shared_ptr<Event>> Queue::now() {
  const std::lock_guard lock(now_mutex_);
  if (!now_) {
    auto made = context_.make_event(false);
    if (!made.ok()) return made.status();
    now_ = std::make_shared<Event>(std::move(made).value());
  }
  if (Status s = now_->record(stream_); !s.ok()) return s;
  return now_;
}

Result<Block> Queue::allocate(std::int64_t bytes) {
  if (context_.lost()) return context_.lost_status();
  Driver& driver = context_.driver();
  const Entered entered(driver, context_.handle());
  if (entered.error() != 0) return context_.check(entered.error(), "entering its context");
  Block block;
  Error error = allocator_.allocate(bytes, block);
  if (driver.out_of_memory(error)) {
    if (Status s = context_.trim(); !s.ok()) return s;
    error = allocator_.allocate(bytes, block);
  }
  if (error == 0) return block;
  if (!driver.out_of_memory(error)) return context_.check(error, "allocating memory");
  std::size_t free = 0, total = 0;
  static_cast<void>(driver.memory(free, total));
  return Status(Code::unavailable,
                fmt::format("{}: out of memory: {} bytes asked, {} free of {}", context_.name(), bytes, free, total));
}
void Queue::release(const Block& block, Uses uses) {
  const Entered entered(context_.driver(), context_.handle());
  allocator_.release(block, std::move(uses));
}

Status Queue::copy_in(void* device, const void* host, const Rows& rows, bool pinned) {
  return context_.within("copying to the device",
                         [&] { return staging_.copy_in(device, host, rows, pinned, stream_.handle()); });
}
Status Queue::copy_out(void* host, const void* device, const Rows& rows, bool pinned) {
  return context_.within("copying from the device",
                         [&] { return staging_.copy_out(host, device, rows, pinned, stream_.handle()); });
}
Status Queue::queue_copy_out(void* pinned, const void* device, std::int64_t bytes) {
  return context_.within("copying from the device", [&] {
    return context_.driver().copy_out(pinned, device, static_cast<std::size_t>(bytes), stream_.handle());
  });
}
Status Queue::queue_copy(void* to, const void* from, std::int64_t bytes) {
  return context_.within("copying on the device", [&] {
    return context_.driver().copy_on_device(to, from, static_cast<std::size_t>(bytes), stream_.handle());
  });
}
Status Queue::queue_fill(void* device, unsigned char byte, std::int64_t bytes) {
  return context_.within("filling memory", [&] {
    return context_.driver().fill(device, byte, static_cast<std::size_t>(bytes), stream_.handle());
  });
}

}  // namespace tokitai::gpu

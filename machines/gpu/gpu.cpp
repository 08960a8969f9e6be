#include "machines/gpu/gpu.h"

namespace tokitai::gpu {

Result<std::shared_ptr<Runner>> Gpu::on_new_stream() {
  auto stream = context_->make_stream();
  if (!stream.ok()) return stream.status();
  return std::make_shared<Runner>(*this, std::move(stream).value());
}

Result<std::shared_ptr<Runner>> Gpu::on(void* stream) {
  auto borrowed = context_->borrow_stream(stream);
  if (!borrowed.ok()) return borrowed.status();
  std::uint64_t number = 0;
  if (Status s = context_->within("asking for a stream's number",
                                  [&] {
                                    number = context_->driver().stream_number(borrowed->handle());
                                    return 0;
                                  });
      !s.ok())
    return s;
  Borrowed idle;  // which goes, and waits for the device, when the lock is given back
  const std::lock_guard lock(mutex_);
  const std::pair key(borrowed->handle(), number);
  if (const auto found = borrowed_.find(key); found != borrowed_.end()) return found->second;
  if (borrowed_.size() >= kMostBorrowed) idle = take_idle();
  auto made = std::make_shared<Runner>(*this, std::move(borrowed).value());
  borrowed_.emplace(key, made);
  return made;
}

Gpu::Borrowed Gpu::take_idle() {
  Borrowed idle;
  for (auto at = borrowed_.begin(); at != borrowed_.end();)
    if (at->second.use_count() == 1)
      idle.insert(borrowed_.extract(at++));
    else
      ++at;
  return idle;
}

Status Gpu::trim() {
  {
    Borrowed idle;
    const std::lock_guard lock(mutex_);
    idle = take_idle();
  }
  return context_->trim();
}

}  // namespace tokitai::gpu

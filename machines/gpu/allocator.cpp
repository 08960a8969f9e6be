#include "machines/gpu/allocator.h"

#include <algorithm>
#include <bit>

namespace tokitai::gpu {

std::int64_t Allocator::size_class(std::int64_t bytes) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 20, kSmallStep = 512, kLargeStep = std::int64_t{2} << 20,
                         kMostStep = std::int64_t{64} << 20;
  bytes = std::max<std::int64_t>(bytes, 1);
  const std::int64_t least = bytes <= kSmall ? kSmallStep : kLargeStep;
  const auto floor = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  const std::int64_t step = std::clamp(floor / 8, least, kMostStep);
  return (bytes + step - 1) / step * step;
}

Error Allocator::allocate(std::int64_t bytes, Block& block) {
  const std::int64_t size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  if (const auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
    Free& last = found->second.back();
    for (const auto& use : last.uses)
      if (const Error e = driver_.stream_wait(stream_, use->handle()); e != 0) return e;
    block = {last.data, size};
    found->second.pop_back();
    cached_ -= size;
  } else {
    void* data = nullptr;
    if (const Error e = driver_.allocate(data, static_cast<std::size_t>(size)); e != 0) return e;
    block = {data, size};
  }
  in_use_ += size;
  return 0;
}

void Allocator::release(const Block& block, Uses uses) {
  if (block.data == nullptr) return;
  const std::lock_guard lock(mutex_);
  in_use_ -= block.bytes;
  try {
    free_[block.bytes].push_back({block.data, std::move(uses)});
    cached_ += block.bytes;
  } catch (const std::bad_alloc&) {  // no room to remember it
    static_cast<void>(driver_.free(block.data));
  }
}

void Allocator::take(std::vector<void*>& blocks) {
  const std::lock_guard lock(mutex_);
  for (const auto& [size, free] : free_)
    for (const Free& one : free) blocks.push_back(one.data);
  free_.clear();
  cached_ = 0;
}

std::int64_t Allocator::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}
std::int64_t Allocator::cached() const {
  const std::lock_guard lock(mutex_);
  return cached_;
}

}  // namespace tokitai::gpu

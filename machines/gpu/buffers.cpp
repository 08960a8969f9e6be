#include "machines/gpu/buffers.h"

#include <algorithm>

namespace tokitai::gpu {

void Buffers::add(const void* memory, std::int64_t bytes, const Queue& home) { add(memory, bytes, &home); }
void Buffers::add(const void* memory, std::int64_t bytes, const Queue* home) {
  const std::lock_guard lock(mutex_);
  all_.insert_or_assign(memory, Entry{std::max<std::int64_t>(bytes, 1), home, {}});
}

Buffers::Entry* Buffers::at(const void* address) {
  auto after = all_.upper_bound(address);
  if (after == all_.begin()) return nullptr;
  auto& [begin, entry] = *--after;
  return static_cast<const std::byte*>(address) - static_cast<const std::byte*>(begin) < entry.bytes ? &entry : nullptr;
}

Status Buffers::used(Queue& queue, std::span<const void* const> addresses) {
  const std::lock_guard lock(mutex_);
  if (all_.empty()) return {};
  std::shared_ptr<Event> now;
  for (const void* address : addresses) {
    Entry* entry = at(address);
    if (entry == nullptr || entry->home == &queue) continue;
    if (!now) {
      auto made = queue.now();
      if (!made.ok()) return queue.wait();  // then there is nothing to wait for later
      now = std::move(made).value();
    }
    if (std::ranges::find(entry->uses, now) == entry->uses.end()) entry->uses.push_back(now);
  }
  return {};
}

Uses Buffers::remove(const void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(memory);
  if (found == all_.end()) return {};
  Uses uses = std::move(found->second.uses);
  all_.erase(found);
  return uses;
}

}  // namespace tokitai::gpu

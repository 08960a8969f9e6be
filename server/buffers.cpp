#include "server/buffers.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tokitai::server {
namespace {

// Below this many bytes copying is faster than mapping and the page faults that follow.
constexpr std::int64_t kSmall = 64 << 10;

}  // namespace

std::vector<Buffers::Rows> rows_of(const View& view, std::int64_t offset) {
  const auto size = static_cast<std::int64_t>(size_of(view.type));
  if (!has_gaps(view)) return {{offset, view.elements() * size, 1, 0}};
  std::vector<Buffers::Rows> all;
  for (std::int64_t i = 0; i < view.blocks(); ++i)
    all.push_back(
        {offset + view.block_offset(i) * size, view.cols() * size, view.block_lines(), view.row_stride * size});
  return all;
}

Buffers::~Buffers() {
  for (auto& [address, buffer] : all_) ::munmap(buffer.address, static_cast<std::size_t>(buffer.capacity));
}

Result<void*> Buffers::allocate(std::int64_t bytes) {
  if (bytes > arena_.size())
    return Status(Code::unavailable, fmt::format("shared memory: {} bytes asked, there are {}", bytes, arena_.size()));
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.capacity = whole_pages(std::max<std::int64_t>(bytes, 1));
  auto offset = arena_.reserve(buffer.capacity);
  if (!offset.ok()) return offset.status();
  buffer.half[0] = offset.value();
  void* address = map_shared(arena_.descriptor(), offset.value(), buffer.capacity);
  if (address == nullptr) {
    const int error = errno;
    arena_.release(offset.value(), buffer.capacity);
    return Status(Code::unavailable,
                  fmt::format("shared memory: mapping {} bytes: {}", buffer.capacity, std::strerror(error)));
  }
  buffer.address = static_cast<std::byte*>(address);
  const std::lock_guard lock(mutex_);
  all_[reinterpret_cast<std::uintptr_t>(address)] = buffer;
  return address;
}

void Buffers::release(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto one = all_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (one == all_.end()) return;
  const Buffer& buffer = one->second;
  ::munmap(buffer.address, static_cast<std::size_t>(buffer.capacity));
  for (const std::int64_t half : buffer.half)
    if (half >= 0) arena_.release(half, buffer.capacity);
  all_.erase(one);
}

Buffers::Buffer* Buffers::find(const void* address, std::int64_t extent) {
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  auto one = all_.upper_bound(begin);
  if (one == all_.begin()) return nullptr;
  Buffer& buffer = (--one)->second;
  const auto offset = static_cast<std::int64_t>(begin - one->first);
  return offset <= buffer.bytes && extent <= buffer.bytes - offset ? &buffer : nullptr;
}

Status Buffers::prepare(Buffer& buffer) {
  std::int64_t& back = buffer.half[static_cast<std::size_t>(1 - buffer.front)];
  if (back >= 0) return {};
  auto offset = arena_.reserve(buffer.capacity);
  if (!offset.ok()) return offset.status();
  back = offset.value();
  return {};
}

void Buffers::use(Buffer& buffer) const {
  constexpr int kOften = 3;
  if (++buffer.uses != kOften) return;
  for (const std::int64_t half : buffer.half)
    if (half >= 0) arena_.use_large_pages(half, buffer.capacity);
}

void Buffers::commit(Buffer& buffer, const std::vector<Rows>& written) {
  std::int64_t covered = 0;
  for (const Rows& rows : written) covered += rows.count * rows.bytes;
  if (covered == buffer.bytes && covered > kSmall && flip(buffer)) return;
  const std::byte* back = arena_.at(buffer.half[static_cast<std::size_t>(1 - buffer.front)]);
  for (const Rows& rows : written)
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t begin = rows.begin + i * rows.pitch;
      std::memcpy(buffer.address + begin, back + begin, static_cast<std::size_t>(rows.bytes));
    }
}

// False where the system refuses the mapping: it allows a process so many.
bool Buffers::flip(Buffer& buffer) {
  const int back = 1 - buffer.front;
  void* mapped =
      ::mmap(buffer.address, static_cast<std::size_t>(buffer.capacity), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE | MAP_FIXED, arena_.descriptor(), buffer.half[static_cast<std::size_t>(back)]);
  if (mapped == MAP_FAILED) return false;
  buffer.front = back;
  return true;
}

}  // namespace tokitai::server

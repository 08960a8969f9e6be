#include "server/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace tokitai::server {
namespace {

Status failed(std::string_view what) {
  return {Code::unavailable, fmt::format("shared memory: {}: {}", what, std::strerror(errno))};
}

}  // namespace

// Room is taken with a large page to spare, the mapping put where it suits, and what is left over given back.
void* map_shared(int descriptor, std::int64_t offset, std::int64_t bytes) {
  const std::int64_t spare = bytes >= kLargePage ? kLargePage : 0;
  const std::int64_t length = whole_pages(bytes);
  void* room = ::mmap(nullptr, static_cast<std::size_t>(length + spare), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(room);
  std::int64_t before = 0;
  if (spare > 0) {
    const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin)) % kLargePage;
    before = (offset % kLargePage - off + kLargePage) % kLargePage;
  }
  void* data = ::mmap(begin + before, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE | MAP_FIXED, descriptor, offset);
  if (data == MAP_FAILED) {
    const int error = errno;
    ::munmap(begin, static_cast<std::size_t>(length + spare));
    errno = error;
    return nullptr;
  }
  if (before > 0) ::munmap(begin, static_cast<std::size_t>(before));
  if (spare > before) ::munmap(begin + before + length, static_cast<std::size_t>(spare - before));
  return data;
}

Result<Mapping> Mapping::make(int descriptor, std::int64_t bytes) {
  void* data = map_shared(descriptor, 0, bytes);
  if (data == nullptr) return failed(fmt::format("mapping {} bytes", bytes));
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.bytes_ = bytes;
  return mapping;
}
Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes_));
}

Result<std::unique_ptr<Arena>> Arena::make(std::int64_t bytes) {
  std::unique_ptr<Arena> arena(new Arena());
  arena->file_ = base::Descriptor(::memfd_create("tokitai", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!arena->file_) return failed("memfd_create");
  const int file = arena->file_.get();
  if (::ftruncate(file, bytes) != 0) return failed(fmt::format("setting its size to {} bytes", bytes));
  if (::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return failed("sealing its size");
  auto whole = Mapping::make(file, bytes);
  if (!whole.ok()) return whole.status();
  arena->whole_ = std::move(whole).value();
  arena->free_[0] = bytes;
  return arena;
}

std::int64_t Arena::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

Result<std::int64_t> Arena::reserve(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::int64_t alignment = bytes >= kLargePage ? kLargePage : kPage;
  for (auto one = free_.begin(); one != free_.end(); ++one) {
    const auto [begin, size] = *one;
    std::int64_t offset = (begin + alignment - 1) / alignment * alignment;
    // Tensors that lie one behind the other have distances of powers of two, and a step over them meets the same banks
    // of memory at the same time: 31 ms for 67M elements. With a large page between them it takes 25.
    if (alignment == kLargePage && offset == begin && begin > 0 && size - bytes >= kLargePage) offset += kLargePage;
    if (size - (offset - begin) < bytes) continue;
    int error = EINTR;
    while (error == EINTR) error = ::fallocate(file_.get(), 0, offset, bytes) == 0 ? 0 : errno;
    if (error != 0) {
      // What was reserved before it failed goes back at once.
      ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
      return Status(Code::unavailable, fmt::format("shared memory: the system does not give {} bytes more: {}", bytes,
                                                   std::strerror(error)));
    }
    free_.erase(one);
    if (offset > begin) free_[begin] = offset - begin;
    if (begin + size > offset + bytes) free_[offset + bytes] = begin + size - (offset + bytes);
    in_use_ += bytes;
    return offset;
  }
  return Status(Code::unavailable,
                fmt::format("shared memory is full: {} bytes asked, {} of {} in use", bytes, in_use_, whole_.size()));
}

void Arena::release(std::int64_t offset, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
  in_use_ -= bytes;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin())
    if (const auto before = std::prev(next); before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  free_[offset] = bytes;
}

void Arena::use_large_pages(std::int64_t offset, std::int64_t bytes) const {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE: Linux 6.1, younger than the C library's headers
  const std::int64_t whole = bytes / kLargePage * kLargePage;
  if (whole > 0) static_cast<void>(::madvise(at(offset), static_cast<std::size_t>(whole), kCollapse));
}

Status check_shared(int descriptor, std::int64_t bytes) {
  struct stat facts{};
  if (descriptor < 0 || ::fstat(descriptor, &facts) != 0)
    return Status::invalid("no shared memory came with the message");
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (facts.st_size != bytes || seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return Status::invalid(fmt::format("the shared memory has {} bytes and seals {:#x}; it must have {}, sealed",
                                       static_cast<std::int64_t>(facts.st_size), seals, bytes));
  return {};
}

}  // namespace tokitai::server

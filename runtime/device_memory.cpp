// Memory on devices: buffers, copies, and what their sizes and pointers must be.
#include <fmt/format.h>

#include <utility>

#include "runtime/machine.h"

namespace tokitai {
namespace {

Status check_copy(const void* to, const void* from, std::int64_t bytes) {
  if (bytes < 0) return Status::invalid(fmt::format("a copy of {} bytes; it must not be negative", bytes));
  if (bytes > kMostBytes) return Status::invalid(fmt::format("a copy of {} bytes; the most is {}", bytes, kMostBytes));
  if (bytes > 0 && (to == nullptr || from == nullptr))
    return Status::invalid(fmt::format("a copy of {} bytes {} a null pointer", bytes, to == nullptr ? "to" : "from"));
  return {};
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  machine_ = std::move(other.machine_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  pinned_ = other.pinned_;
  return *this;
}

void Buffer::reset() {
  if (data_ != nullptr) {
    if (!machine_->usable_here())
      leave_as_it_is(data_);
    else if (pinned_)
      machine_->release_pinned(data_, bytes_);
    else
      machine_->release(data_, bytes_);
  }
  machine_.reset();
  data_ = nullptr;
  bytes_ = 0;
}

Result<Buffer> Device::allocate(std::int64_t bytes) { return allocate(bytes, false); }
Result<Buffer> Device::allocate_pinned(std::int64_t bytes) { return allocate(bytes, true); }
// Every size below here has passed this, and may be rounded up without a thought.
Result<Buffer> Device::allocate(std::int64_t bytes, bool pinned) {
  if (bytes < 0) return Status::invalid(fmt::format("a buffer of {} bytes; it must not be negative", bytes));
  if (bytes > kMostBytes)
    return Status::invalid(fmt::format("a buffer of {} bytes; the most is {}", bytes, kMostBytes));
  if (Status s = usable(); !s.ok()) return s;
  auto memory = pinned ? machine_->allocate_pinned(bytes) : machine_->allocate(bytes);
  if (!memory.ok()) return memory.status();
  return Buffer(machine_, memory.value(), bytes, pinned);
}
Status Device::copy_in(void* device, const void* host, std::int64_t bytes) {
  if (Status s = check_copy(device, host, bytes); !s.ok() || bytes == 0) return s;
  if (Status s = usable(); !s.ok()) return s;
  return machine_->copy_in(device, host, bytes);
}
Status Device::copy_out(void* host, const void* device, std::int64_t bytes) {
  if (Status s = check_copy(host, device, bytes); !s.ok() || bytes == 0) return s;
  if (Status s = usable(); !s.ok()) return s;
  return machine_->copy_out(host, device, bytes);
}
Status Device::copy(void* to, const void* from, std::int64_t bytes) {
  if (Status s = check_copy(to, from, bytes); !s.ok() || bytes == 0) return s;
  if (Status s = usable(); !s.ok()) return s;
  return machine_->copy(to, from, bytes);
}
Result<bool> Device::holds(const void* memory) const {
  if (Status s = usable(); !s.ok()) return s;
  return machine_->holds(memory);
}
Result<DeviceMemory> Device::memory() const {
  if (Status s = usable(); !s.ok()) return s;
  return machine_->memory();
}
Status Device::trim() {
  Status s = usable();
  return s.ok() ? machine_->trim() : s;
}

}  // namespace tokitai

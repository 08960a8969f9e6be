#include "machines/gpu/staging.h"

#include <algorithm>
#include <cstring>

namespace tokitai::gpu {

// Some rows, or a part of one row where a row is larger than a slot.
struct Staging::Piece {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;  // of each row
  std::int64_t host_offset = 0, device_offset = 0;
  std::int64_t slot_pitch = 0;  // rows lie in the slot as they lie on the device
  std::int64_t slot_bytes() const { return (rows - 1) * slot_pitch + bytes; }
};

namespace {

// Rows that touch on both sides are one.
Rows joined(const Rows& r) {
  const bool close = r.host_pitch == r.bytes && r.device_pitch == r.bytes;
  return r.rows == 1 || close ? Rows::flat(r.rows * r.bytes) : r;
}

}  // namespace

// Calls `work` for each piece, until it answers an error.
template <class Piece, class Work> static Error for_pieces(const Rows& r, std::int64_t most, const Work& work) {
  if (r.device_pitch <= most && r.rows > 1) {
    const std::int64_t at_once = most / r.device_pitch;
    for (std::int64_t row = 0; row < r.rows; row += at_once) {
      const Piece piece{std::min(at_once, r.rows - row), r.bytes, row * r.host_pitch, row * r.device_pitch,
                        r.device_pitch};
      if (const Error e = work(piece); e != 0) return e;
    }
    return 0;
  }
  for (std::int64_t row = 0; row < r.rows; ++row)
    for (std::int64_t begin = 0; begin < r.bytes; begin += most) {
      const std::int64_t bytes = std::min(most, r.bytes - begin);
      const Piece piece{1, bytes, row * r.host_pitch + begin, row * r.device_pitch + begin, bytes};
      if (const Error e = work(piece); e != 0) return e;
    }
  return 0;
}

Error Staging::settle(Slot& slot) {
  if (!slot.busy) return 0;
  slot.busy = false;
  return driver_.wait_event(slot.event);
}

Error Staging::next(Slot*& slot) {
  slot = &slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  if (slot->memory == nullptr) {
    if (slot->event == nullptr)
      if (const Error e = driver_.create_event(slot->event, false); e != 0) return e;
    void* memory = nullptr;
    if (const Error e = driver_.allocate_pinned(memory, kSlotBytes); e != 0) return e;
    slot->memory = static_cast<std::byte*>(memory);
  }
  return settle(*slot);
}

void Staging::close() {
  for (Slot& slot : slots_) {
    static_cast<void>(settle(slot));
    if (slot.memory != nullptr) static_cast<void>(driver_.free_pinned(slot.memory));
    if (slot.event != nullptr) static_cast<void>(driver_.destroy_event(slot.event));
    slot = {};
  }
}

Error Staging::copy_in(void* device, const void* host, const Rows& rows, bool pinned, void* stream) {
  const Rows r = joined(rows);
  const auto* from = static_cast<const std::byte*>(host);
  auto* to = static_cast<std::byte*>(device);
  if (pinned && r.rows == 1 && r.bytes > kSlotBytes) {
    if (const Error e = driver_.copy_in(device, host, static_cast<std::size_t>(r.bytes), stream); e != 0) return e;
    return driver_.wait_stream(stream);
  }
  const std::lock_guard lock(mutex_);
  return for_pieces<Piece>(r, kSlotBytes, [&](const Piece& p) {
    Slot* slot = nullptr;
    if (const Error e = next(slot); e != 0) return e;
    for (std::int64_t i = 0; i < p.rows; ++i)
      std::memcpy(slot->memory + i * p.slot_pitch, from + p.host_offset + i * r.host_pitch,
                  static_cast<std::size_t>(p.bytes));
    if (const Error e =
            driver_.copy_in(to + p.device_offset, slot->memory, static_cast<std::size_t>(p.slot_bytes()), stream);
        e != 0)
      return e;
    slot->busy = true;
    return driver_.record(slot->event, stream);
  });
}

Error Staging::copy_out(void* host, const void* device, const Rows& rows, bool pinned, void* stream) {
  const Rows r = joined(rows);
  auto* to = static_cast<std::byte*>(host);
  const auto* from = static_cast<const std::byte*>(device);
  if (pinned && r.rows == 1) return driver_.copy_out(host, device, static_cast<std::size_t>(r.bytes), stream);
  const std::lock_guard lock(mutex_);
  struct Coming {
    Slot* slot;
    Piece piece;
  };
  std::array<Coming, 4> coming{};  // a ring: the oldest is emptied when every slot is on its way
  static_assert(sizeof(coming) / sizeof(Coming) == std::tuple_size_v<decltype(slots_)>);
  std::size_t first = 0, count = 0;
  const auto empty_oldest = [&]() -> Error {
    const auto& [slot, p] = coming[first];
    first = (first + 1) % coming.size();
    --count;
    if (const Error e = settle(*slot); e != 0) return e;
    for (std::int64_t i = 0; i < p.rows; ++i)
      std::memcpy(to + p.host_offset + i * r.host_pitch, slot->memory + i * p.slot_pitch,
                  static_cast<std::size_t>(p.bytes));
    return 0;
  };
  const Error queued = for_pieces<Piece>(r, kSlotBytes, [&](const Piece& p) {
    if (count == coming.size())
      if (const Error e = empty_oldest(); e != 0) return e;
    Slot* slot = nullptr;
    if (const Error e = next(slot); e != 0) return e;
    if (const Error e =
            driver_.copy_out(slot->memory, from + p.device_offset, static_cast<std::size_t>(p.slot_bytes()), stream);
        e != 0)
      return e;
    slot->busy = true;
    if (const Error e = driver_.record(slot->event, stream); e != 0) return e;
    coming[(first + count++) % coming.size()] = {slot, p};
    return Error{0};
  });
  if (queued != 0) return queued;
  while (count > 0)
    if (const Error e = empty_oldest(); e != 0) return e;
  return 0;
}

}  // namespace tokitai::gpu

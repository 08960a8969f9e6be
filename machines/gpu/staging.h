// Copies between the host's ordinary memory and a device, through a ring of pinned slots: while one is on the bus
// the next is filled or emptied. A matrix may have its rows apart; the bytes between rows are never touched.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "machines/gpu/driver.h"

namespace tokitai::gpu {

// Rows as they lie on both sides; the distance between rows may differ.
struct Rows {
  std::int64_t rows = 1;
  std::int64_t bytes = 0;  // of a row
  std::int64_t host_pitch = 0, device_pitch = 0;

  static Rows flat(std::int64_t bytes) { return {1, bytes, bytes, bytes}; }
};

class Staging {
 public:
  explicit Staging(Driver& driver) : driver_(driver) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  // Gives the slots back. The device's context is the calling thread's, here and in the copies.
  void close();

  // Returns when the host's memory may be changed; the copy itself is queued on the stream. Pinned memory larger
  // than a slot goes to the device directly, and that is waited for.
  Error copy_in(void* device, const void* host, const Rows& rows, bool pinned, void* stream);
  // Returns when the bytes are there; into pinned memory that lies close, at once: the stream must be waited for.
  Error copy_out(void* host, const void* device, const Rows& rows, bool pinned, void* stream);

  static constexpr std::int64_t kSlotBytes = std::int64_t{4} << 20;

 private:
  struct Slot {
    std::byte* memory = nullptr;
    void* event = nullptr;
    bool busy = false;  // the event has been recorded and not waited for
  };
  struct Piece;  // what one slot carries

  Error next(Slot*& slot);
  Error settle(Slot& slot);

  Driver& driver_;
  std::mutex mutex_;
  std::array<Slot, 4> slots_{};
  std::size_t next_ = 0;
};

}  // namespace tokitai::gpu

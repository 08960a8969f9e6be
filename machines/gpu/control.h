// Small device memory that every checked or counting call of a stream needs: a flag of all ones, the smallest position
// a check refused, and counters that start at zero. A ring of such blocks is made ready half by half, so that a call
// pays for no fill of its own. Flags that nobody waits for are read together, later: those of one half while the other
// is used, so that the host waits only where the device is half a ring behind.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "machines/device/plan.h"
#include "machines/gpu/queue.h"

namespace tokitai::gpu {

class Control {
 public:
  explicit Control(Queue& queue) : queue_(queue) {}
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  struct Slot {
    int index = -1;
    std::uint64_t* flag = nullptr;  // on the device
    std::uint64_t* counted = nullptr;
    std::uint32_t* counter = nullptr;  // 48 of them
  };
  // A fresh one, in stream order.
  Result<Slot> take();
  // What the call left in its flag, now: waits for the stream. `call` has pointers that are the host's, or the
  // device's.
  Status answer(const Slot& slot, const Call& call, device::Pattern pattern, Outcome& outcome);
  // The same later, from settle().
  void remember(const Slot& slot, const Call& call, device::Pattern pattern);
  // Waits for the stream; the first failure among the remembered ones.
  Status settle();

 private:
  struct Remembered {
    int slot;
    Call call;
    device::Pattern pattern;
  };

  struct Half {
    std::vector<Remembered> calls;
    std::optional<Event> read;  // recorded behind the copy of its flags to the host
  };

  Status open();
  Status renew(int half);     // fresh again, after what is queued
  Status read_out(int half);  // queues the copy of its flags
  void collect(int half);     // what its remembered calls left becomes failed_; the copy is there

  static constexpr int kSlots = 1024, kHalfSlots = kSlots / 2;
  static constexpr std::int64_t kSlotBytes = 256, kCountedOffset = 32, kCounterOffset = 64,
                                kBytes = kSlots * kSlotBytes, kHalfBytes = kBytes / 2;

  Queue& queue_;
  OwnedBlock ring_, fresh_;      // fresh_: half a ring
  std::byte* pinned_ = nullptr;  // the ring as it was, and one flag behind it
  int next_ = 0;
  std::array<Half, 2> halves_;
  Status failed_;
  std::int64_t more_failed_ = 0;
};

}  // namespace tokitai::gpu

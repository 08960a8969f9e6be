// Small device memory that every checked or counting call needs: a flag of all ones, the smallest position a check
// refused, and counters that start at zero. A ring of such blocks is made ready at once, so that a call pays for no
// fill of its own, and flags that nobody waits for are read together, later.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "machines/device/plan.h"
#include "machines/gpu/context.h"

namespace tokitai::gpu {

class Control {
 public:
  explicit Control(Context& context) : context_(context) {}
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

  Status open();
  Status renew();    // every slot fresh again, after what is queued
  Status collect();  // waits; what remembered calls left becomes failed_

  static constexpr int kSlots = 1024;
  static constexpr std::int64_t kSlotBytes = 256, kCountedOffset = 32, kCounterOffset = 64,
                                kBytes = kSlots * kSlotBytes;

  Context& context_;
  OwnedBlock ring_, fresh_;
  std::byte* pinned_ = nullptr;  // the ring as it was, and one flag behind it
  int next_ = kSlots;
  std::vector<Remembered> remembered_;
  Status failed_;
  std::int64_t more_failed_ = 0;
};

}  // namespace tokitai::gpu

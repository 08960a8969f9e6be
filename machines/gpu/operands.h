// The operands of one call, on the device: used where they lie if that is there; those in the host's memory are
// copied in, and what was written is copied back, rows only, never the bytes between them.
#pragma once
#include <cstdint>
#include <vector>

#include "contract/roles.h"
#include "machines/gpu/queue.h"

namespace tokitai::gpu {

class StagedOperands {
 public:
  explicit StagedOperands(Queue& queue) : queue_(queue), context_(queue.context()) {}

  // The call over the device's memory: the caller's own where nothing had to be copied, else one of ours, which
  // lives as long as this. Memory of another device is refused.
  Result<const Call*> bring(const Call& call);
  // Whether anything was copied in or will be copied back.
  bool any() const { return !copies_.empty(); }
  // Waits for the device. Of a step that was called off only what the call has once comes back.
  Status take_back(bool skipped);
  std::int64_t bytes_copied() const { return bytes_copied_; }
  // In every allocation that the call was found to use.
  std::vector<const void*> addresses() const;

 private:
  struct Copy {
    View host, device;
    bool read, written, once, pinned;
    OwnedBlock block;
  };

  Status locate(const Call& call, const View& view, std::size_t operand, Place& place);
  Status collect(const Call& call, Operands& set);
  Status fetch(Copy& copy);
  // Calls f(device, host, rows) for each block of rows that are evenly spaced.
  template <class F> Status for_blocks(const Copy& copy, const F& f);

  Queue& queue_;
  Context& context_;
  Call call_;
  std::vector<Copy> copies_;
  std::vector<Place> known_;  // allocations seen in this call
  std::int64_t bytes_copied_ = 0;
};

}  // namespace tokitai::gpu

// A device's copy bandwidth: what every memory-bound operator is measured against.
#pragma once
#include <cstddef>
#include <memory>

#include "tokitai/device.h"

namespace tokitai::bench {

class Copy {
 public:
  // On a CPU with the device's threads.
  static Result<Copy> on(Device& device);
  // Bytes read plus bytes written per second, in GB/s: the median over repetitions of a copy far larger than the
  // caches, on a CPU the best of streaming stores and the C library's copy. There it is measured anew in every call: a
  // machine that others use too is not equally fast at all times.
  double bandwidth() const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  int threads_ = 0;
  std::unique_ptr<std::byte, Free> from_, to_;
  double of_gpu_ = 0;
};

}  // namespace tokitai::bench

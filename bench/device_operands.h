// A problem's operands in a device's memory. Large ones repeat a million deviates, multiplied on the device, so that
// sixteen gigabytes are there in a second and the host needs memory only for the piece it checks.
#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "problems/problem.h"
#include "tokitai/device.h"

namespace tokitai::bench {

// The first elements of the batch, in the host's memory, and where they lie on the device.
struct Piece {
  Call call;
  Call there;
  std::vector<std::vector<std::byte>> memory;
};

class DeviceOperands {
 public:
  static Result<DeviceOperands> make(const problems::Problem& problem, Device& device);

  const Call& call() const { return call_; }
  Cost cost() const;  // of the indices that it holds
  std::int64_t batch() const { return batch_; }
  // What the operands hold now, for the batch's elements [0, end); outputs that nothing reads are poisoned otherwise
  // than the device's.
  Result<Piece> piece(std::int64_t end, Device& device) const;
  bool written(std::size_t operand) const;
  bool read(std::size_t operand) const;
  bool has_batch(std::size_t operand) const;

 private:
  // What an operand is filled with: `bytes` of it, over and over.
  struct Pattern {
    Buffer memory;
    std::int64_t bytes = 0;
  };

  Status place(const problems::Problem& problem, Operands& set, std::int64_t shift, Device& device);
  Status put_indices(const problems::Problem& problem, std::size_t operand, const View& view, Device& device);
  Result<const Pattern*> pattern(const problems::Problem& problem, std::size_t operand, const View& view,
                                 Device& device);
  static Status spread(const Pattern& pattern, const View& view, Device& device);

  Call call_;
  std::vector<Buffer> buffers_;
  std::map<std::size_t, Pattern> patterns_;                // by operand
  std::map<std::size_t, std::vector<std::byte>> indices_;  // what those operands hold, in the host's memory
  std::int64_t batch_ = 1;
  std::array<int, kMaxOperands> over_{};  // the operand that each lies over, or -1
};

}  // namespace tokitai::bench

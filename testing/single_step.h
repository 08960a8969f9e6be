// A fork of this process, run instruction by instruction: what it has stored in shared memory at any instant is what a
// SIGKILL at that instant would leave behind.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

namespace tokitai::testing {

// Memory that forks share, filled with zeros; nullptr where there is none.
struct Unmap {
  std::size_t bytes;
  void operator()(std::byte* memory) const;
};
using SharedMemory = std::unique_ptr<std::byte[], Unmap>;
SharedMemory shared_memory(std::size_t bytes);

// Calls `changed` whenever an instruction of `work`, in a fork, has changed `shared`, and once at the end. False: the
// system does not let us trace a process, a sanitizer is built in, or `work` did not come to its end.
bool step_through(std::span<const std::byte> shared, const std::function<void()>& work,
                  const std::function<void()>& changed);

}  // namespace tokitai::testing

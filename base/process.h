// Which process this is. A fork of a process has its memory but not its threads, and shares its files, connections and
// drivers: what was made before must be left as it is there. Asking costs the reading of a number, not a system call.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

namespace tokitai {

class HomeProcess {
 public:
  HomeProcess();                                   // the process that makes this
  bool here() const { return forks_ == forks(); }  // and not a fork of it

 private:
  static std::uint64_t forks();  // that lie between the process that loaded the library and this one
  std::uint64_t forks_;
};

// In a fork: what is its parent's is neither ended nor given back there, but kept as it is.
void leave_as_it_is(std::shared_ptr<void> of_parent);
void leave_as_it_is(void* of_parent);

// While this is held no fork of the process begins: for descriptors that a fork must not have.
std::unique_lock<std::mutex> hold_forks();

}  // namespace tokitai

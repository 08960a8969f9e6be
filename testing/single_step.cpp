#include "testing/single_step.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

namespace tokitai::testing {

void Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

SharedMemory shared_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return SharedMemory(memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory), Unmap{bytes});
}

bool step_through(std::span<const std::byte> shared, const std::function<void()>& work,
                  const std::function<void()>& changed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;  // many more instructions, and none of them ours
#endif
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    ::raise(SIGSTOP);
    work();
    _exit(0);
  }
  std::vector<std::byte> seen(shared.begin(), shared.end());
  for (;;) {
    int how = 0;
    if (::waitpid(child, &how, 0) != child) return false;
    if (!WIFSTOPPED(how)) {
      changed();
      return WIFEXITED(how) && WEXITSTATUS(how) == 0;
    }
    if (std::memcmp(seen.data(), shared.data(), seen.size()) != 0) {
      std::memcpy(seen.data(), shared.data(), seen.size());
      changed();
    }
    if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      return false;
    }
  }
}

}  // namespace tokitai::testing

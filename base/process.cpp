#include "base/process.h"

#include <pthread.h>

#include <atomic>

namespace tokitai {
namespace {

std::atomic<std::uint64_t> count = 0;
std::mutex forking;

// A fork has one thread, which took the lock before: it may give it back there, too.
void listen() {
  static const int listens = ::pthread_atfork([] { forking.lock(); }, [] { forking.unlock(); },
                                              [] {
                                                count.fetch_add(1, std::memory_order_relaxed);
                                                forking.unlock();
                                              });
  static_cast<void>(listens);
}
// Before main: a fork beside the first use of another thread would wait for ever for what that thread had begun.
[[maybe_unused]] const bool listens_before_main = (listen(), true);

}  // namespace

HomeProcess::HomeProcess() {
  listen();
  forks_ = forks();
}

std::uint64_t HomeProcess::forks() { return count.load(std::memory_order_relaxed); }

void leave_as_it_is(std::shared_ptr<void> of_parent) {
  struct Left {
    std::shared_ptr<void> thing;
    Left* next;
  };
  static std::atomic<Left*> all = nullptr;  // so that who looks for leaks finds none
  auto* one = new Left{std::move(of_parent), nullptr};
  one->next = all.exchange(one);
}

void leave_as_it_is(void* of_parent) {
  leave_as_it_is(std::shared_ptr<void>(of_parent, [](void*) {}));
}

std::unique_lock<std::mutex> hold_forks() {
  listen();
  return std::unique_lock(forking);
}

}  // namespace tokitai

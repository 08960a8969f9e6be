// Independent pieces of work on every core: compiling many kernels.
#pragma once
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tokitai::base {

// Calls f(i) for every i below count, in no order, and returns when all are done. The caller works too.
template <class F> void at_once(std::size_t count, F f) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) f(i);
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 1; t < std::thread::hardware_concurrency() && t < count; ++t) threads.emplace_back(work);
  work();
}

}  // namespace tokitai::base

#include "server/connection.h"

#include <algorithm>

namespace tokitai::server {

void Latencies::add(std::chrono::nanoseconds one) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(one).count();
  if (microseconds_.size() < kKept)
    microseconds_.push_back(us);
  else
    microseconds_[next_++ % kKept] = us;
}

void Latencies::fill(ServerState& state) const {
  if (microseconds_.empty()) return;
  std::vector<std::int64_t> sorted = microseconds_;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](std::size_t percent) { return sorted[(sorted.size() - 1) * percent / 100]; };
  state.latency_us_50 = at(50);
  state.latency_us_90 = at(90);
  state.latency_us_99 = at(99);
  state.latency_us_most = sorted.back();
}

}  // namespace tokitai::server

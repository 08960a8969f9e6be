#include "machines/lockstep/release.h"

namespace tokitai::lockstep {

void Counters::acquire(std::uintptr_t address, Known& known) {
  const auto found = index_.find(address);
  if (found == index_.end()) return;
  const std::size_t c = found->second;
  const Counter& counter = counters_[c];
  const std::size_t length = counter.history.size();
  if (known.seen.size() <= c) known.seen.resize(c + 1);
  if (length == known.seen[c]) return;
  known.seen[c] = length;
  known.join(counter.passed_on.back());
}

void Counters::announce(std::uintptr_t address, const Announcement& announcement, const Known& known) {
  if (announcement.empty() && known.empty()) return;
  const auto [found, fresh] = index_.try_emplace(address, counters_.size());
  if (fresh) counters_.emplace_back();
  Counter& counter = counters_[found->second];
  counter.of_block[announcement.block].push_back(counter.history.size());
  counter.history.push_back(announcement);
  Known passed = counter.passed_on.empty() ? Known{} : counter.passed_on.back();
  passed.join(known);
  counter.passed_on.push_back(std::move(passed));
}

template <class Enough> bool Counters::any(const Known& known, int block, Enough enough) const {
  for (std::size_t c = 0; c < known.seen.size(); ++c) {
    const auto found = counters_[c].of_block.find(block);
    if (found == counters_[c].of_block.end()) continue;
    const auto& positions = found->second;
    for (auto p = positions.rbegin(); p != positions.rend(); ++p)
      if (*p < known.seen[c] && enough(counters_[c].history[*p])) return true;
  }
  return false;
}

bool Counters::covers(const Known& known, int block, int thread, std::uint32_t time) const {
  return any(known, block, [&](const Announcement& a) { return time < a.until(thread); });
}
bool Counters::covers_block(const Known& known, int block, std::uint32_t time) const {
  return any(known, block, [&](const Announcement& a) { return time < a.until_together(); });
}

}  // namespace tokitai::lockstep

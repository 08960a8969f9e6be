// Tests that would take minutes take a sample; all where TOKITAI_THOROUGH is set, as `make thorough` sets it.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace tokitai::testing {

inline bool thorough() { return std::getenv("TOKITAI_THOROUGH") != nullptr; }

// The first, and every one_in-th after it; or all of them.
template <class T> std::vector<T> sample(const std::vector<T>& all, std::size_t one_in) {
  std::vector<T> some;
  for (std::size_t i = 0; i < all.size(); i += thorough() ? 1 : one_in) some.push_back(all[i]);
  return some;
}

}  // namespace tokitai::testing

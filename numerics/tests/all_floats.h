// Runs a check over bit patterns on every core: the exhaustive tests all have this shape.
#pragma once
#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace tokitai::testing {

inline constexpr std::uint64_t kAllFloats = std::uint64_t{1} << 32;

// Calls visit(begin, end, partial) on disjoint pieces of [begin, end); returns one partial result per core.
// Many pieces per core, dealt out in turn, because some inputs (subnormals, NaN) take longer than others.
template <class Partial, class Visit>
std::vector<Partial> over_ranges(std::uint64_t begin, std::uint64_t end, Visit visit) {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Partial> partials(cores);
  std::uint64_t pieces = 64 * cores;
  std::vector<std::thread> threads;
  for (unsigned core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      Partial partial{};
      for (std::uint64_t piece = core; piece < pieces; piece += cores) {
        visit(begin + (end - begin) * piece / pieces, begin + (end - begin) * (piece + 1) / pieces, partial);
      }
      partials[core] = partial;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return partials;
}

struct Mismatches {
  std::uint64_t compared = 0;
  std::uint64_t count = 0;
  std::uint64_t first = 0;  // the smallest offending pattern
};

// Compares two functions of a bit pattern on every stride-th one. Whole blocks are counted first, in a loop of a fixed
// length without branches that the compiler vectorises; a block with a mismatch is looked through once more.
template <class F, class G>
Mismatches compare(F actual, G expected, std::uint64_t stride = 1, std::uint64_t end = kAllFloats) {
  auto visit = [&](std::uint64_t a, std::uint64_t b, Mismatches& m) {
    constexpr std::uint32_t kBlock = 1024;
    auto pattern = [&](std::uint64_t i) { return static_cast<std::uint32_t>(i * stride); };
    auto look = [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t i = from; i < to; ++i) {
        if (actual(pattern(i)) == expected(pattern(i))) continue;
        if (m.count++ == 0 || pattern(i) < m.first) m.first = pattern(i);
      }
    };
    std::uint64_t i = a;
    for (; i + kBlock <= b; i += kBlock) {
      std::uint32_t differing = 0;
      for (std::uint32_t j = 0; j < kBlock; ++j) {
        std::uint32_t u = pattern(i) + j * static_cast<std::uint32_t>(stride);
        differing += actual(u) != expected(u) ? 1u : 0u;
      }
      if (differing != 0) look(i, i + kBlock);
    }
    look(i, b);
    m.compared += b - a;
  };
  Mismatches total;
  for (const Mismatches& m : over_ranges<Mismatches>(0, end / stride, visit)) {
    if (m.count && (total.count == 0 || m.first < total.first)) total.first = m.first;
    total.count += m.count;
    total.compared += m.compared;
  }
  return total;
}

}  // namespace tokitai::testing

// How the cpu machine cuts a call into units of work. Bits never depend on these choices; speed does.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "numerics/base.h"
#include "tokitai/view.h"

namespace tokitai::cpu {

// Streaming stores spare the read of what is overwritten, but leave nothing in the cache for the next operator:
// worth it only for outputs that would not have stayed there anyway.
inline constexpr std::int64_t kStreamFromBytes = std::int64_t{16} << 20;
TK_FN bool worth_streaming(const View& out) {
  return out.elements() * static_cast<std::int64_t>(size_of(out.type)) >= kStreamFromBytes;
}

// Waking the crew costs some microseconds: a unit is worth at least this many elements.
inline constexpr std::int64_t kUnitElements = 16384;

// Rows per unit, each worth a row operator's or a copy's time.
TK_FN std::int64_t unit_rows(std::int64_t cols) { return std::max<std::int64_t>(1, kUnitElements / cols); }

// The same where a thread fetches the next rows of its unit ahead of time: `wanted` rows, where that leaves every
// thread 16 units. (With one row a unit, what it fetches is another thread's.)
TK_FN std::int64_t unit_rows_ahead(std::int64_t rows, std::int64_t cols, int threads, std::int64_t wanted) {
  return std::max(unit_rows(cols), std::min(wanted, rows / (16 * threads)));
}

// Rows per unit with column sums: whole chains of 32, and chains of chains (1024 rows, a 32nd of the partial
// results to keep) where that still leaves every thread several units.
TK_FN std::int64_t unit_rows_with_sums(std::int64_t rows, int threads) {
  return rows >= std::int64_t{4096} * threads ? 1024 : 32;
}

// The smallest of the positions offered so far.
TK_FN void offer_smallest(std::atomic<std::int64_t>& smallest, std::int64_t position) {
  std::int64_t seen = smallest.load(std::memory_order_relaxed);
  while (position < seen && !smallest.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {}
}

}  // namespace tokitai::cpu

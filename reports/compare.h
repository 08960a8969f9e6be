// Comparing what two devices wrote, bit for bit. Nothing is tolerated: a NaN against a number, another NaN, a
// sign of zero, an element nobody wrote and a touched padding byte all count.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "tokitai/view.h"

namespace tokitai::evidence {

struct Difference {
  std::int64_t compared = 0;
  std::int64_t differing = 0;
  std::int64_t row = 0, col = 0;  // the first that differs
  std::uint64_t expected = 0, found = 0;
};

// Element by element; the views have the same type and shape.
Difference compare(const View& expected, const View& found);

// The number of bytes between rows that are not `poison`.
std::int64_t touched_padding(const View& view, std::byte poison);

}  // namespace tokitai::evidence

#include "reports/compare.h"

#include <cstring>

namespace tokitai::evidence {
namespace {

std::uint64_t element_bits(const View& view, std::int64_t row, std::int64_t col) {
  const std::size_t size = size_of(view.type);
  const std::int64_t at = view.row_offset(row) + col;
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(view.data) + at * static_cast<std::int64_t>(size), size);
  return bits;
}

}  // namespace

Difference compare(const View& expected, const View& found) {
  Difference d;
  const std::int64_t rows = expected.lines(), cols = expected.line_elements();
  const auto size = static_cast<std::int64_t>(size_of(expected.type));
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto* a = static_cast<const std::byte*>(expected.data) + expected.line_offset(r) * size;
    const auto* b = static_cast<const std::byte*>(found.data) + found.line_offset(r) * size;
    d.compared += cols;
    if (std::memcmp(a, b, static_cast<std::size_t>(cols * size)) == 0) continue;
    for (std::int64_t c = 0; c < cols; ++c) {
      const std::int64_t row = expected.rank >= 2 ? r : c, col = expected.rank >= 2 ? c : 0;
      const std::uint64_t x = element_bits(expected, row, col), y = element_bits(found, row, col);
      if (x == y) continue;
      if (d.differing++ == 0) d.row = row, d.col = col, d.expected = x, d.found = y;
    }
  }
  return d;
}

std::int64_t touched_padding(const View& view, std::byte poison) {
  if (view.rank < 2) return 0;
  const auto size = static_cast<std::int64_t>(size_of(view.type));
  const auto* first = static_cast<const std::byte*>(view.data);
  const std::int64_t behind = view.shape[0] * view.stride(0);  // where a next one would begin
  std::int64_t touched = 0;
  for (std::int64_t r = 0; r < view.rows(); ++r) {
    const std::int64_t next = r + 1 < view.rows() ? view.row_offset(r + 1) : behind;
    for (std::int64_t i = (view.row_offset(r) + view.cols()) * size; i < next * size; ++i)
      touched += first[i] != poison ? 1 : 0;
  }
  return touched;
}

}  // namespace tokitai::evidence

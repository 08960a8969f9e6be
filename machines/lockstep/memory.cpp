#include "machines/lockstep/memory.h"

#include <new>
#include <stdexcept>

namespace tokitai::lockstep {
namespace {

// Whether two ranges with overlapping spans share no byte: column slices of one matrix.
bool interleaved(const Allocation& a, const Allocation& b) {
  if (a.stride != b.stride) return false;
  const std::uint64_t shift = a.base <= b.base ? (b.base - a.base) % a.stride : a.stride - (a.base - b.base) % a.stride;
  return a.row_bytes <= shift && shift + b.row_bytes <= a.stride;
}

}  // namespace

Cells make_cells(std::uint64_t bytes) {
  // calloc gives large blocks as untouched zero pages: only what a kernel touches costs memory.
  const std::size_t count = bytes / 2 + 1;
  auto* cells = static_cast<Cell*>(std::calloc(count, sizeof(Cell)));
  if (cells == nullptr) throw std::bad_alloc();
  return Cells(cells);
}

std::int64_t Allocation::locate_row(std::uint64_t offset, std::uint64_t bytes) {
  if (offset >= span) return -1;
  const std::uint64_t begin = offset / stride * stride;
  const std::uint64_t in_row = offset - begin;
  if (in_row >= row_bytes || bytes > row_bytes - in_row) return -1;
  window = begin;
  return static_cast<std::int64_t>(offset);
}

void Memory::add(const Range& range) {
  if (range.rows <= 0 || range.row_bytes <= 0) return;
  auto added = std::make_unique<Allocation>();
  added->data = static_cast<unsigned char*>(range.base);
  added->base = reinterpret_cast<std::uintptr_t>(range.base);
  added->rows = static_cast<std::uint64_t>(range.rows);
  added->row_bytes = static_cast<std::uint64_t>(range.row_bytes);
  added->stride = range.rows == 1 ? added->row_bytes : static_cast<std::uint64_t>(range.stride_bytes);
  if (added->stride < added->row_bytes || added->base == 0 || added->base % 2 != 0)
    throw std::invalid_argument(range.name + ": a stride below the row, or a base that is null or odd");
  added->named_row = added->stride;
  if (added->stride == added->row_bytes) {  // no padding: one long row
    added->row_bytes *= added->rows;
    added->stride = added->row_bytes;
    added->rows = 1;
  }
  added->span = (added->rows - 1) * added->stride + added->row_bytes;
  added->initialised = range.readable;
  added->writable = range.writable;
  added->name = range.name;

  recent_ = {};
  for (auto& old : ranges_) {
    if (added->base >= old->base + old->span || old->base >= added->base + added->span) continue;
    if (old->base == added->base && old->span == added->span && old->row_bytes == added->row_bytes) {
      old->initialised |= added->initialised;
      old->writable |= added->writable;
      old->name += "=" + added->name;
      if (old->writable && !old->cells) old->cells = make_cells(old->span);
      return;
    }
    if (!interleaved(*old, *added)) throw std::invalid_argument(range.name + " overlaps " + old->name);
  }
  if (added->writable) added->cells = make_cells(added->span);
  ranges_.push_back(std::move(added));
}

Allocation* Memory::find(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  Recent& recent = recent_[(at >> 4 ^ at >> 12) % recent_.size()];
  if (recent.address == p) return recent.range;
  Allocation* best = nullptr;
  for (const auto& range : ranges_) {
    if (range->inside(at)) {
      best = range.get();
      break;
    }
    if (at - range->base <= range->span) best = range.get();  // padding or the end
  }
  recent = {p, best};
  return best;
}

}  // namespace tokitai::lockstep

// The memory a kernel may touch: the buffers of a call, with their exact extents, and who touched each two bytes
// of them last. It outlives a launch, so that the second kernel of a call sees what the first one wrote.
#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace tokitai::lockstep {

// Rows of `row_bytes`, `stride_bytes` apart. What lies between them is out of bounds.
struct Range {
  void* base = nullptr;
  std::int64_t rows = 1;
  std::int64_t row_bytes = 0;
  std::int64_t stride_bytes = 0;  // of no meaning for one row
  bool readable = true;           // initialised before the call; else only what the call wrote may be read
  bool writable = false;
  std::string name;
};

// The last write and the last reads of two neighbouring bytes, as stamps (stamp.h).
struct Cell {
  std::uint64_t write, read;
};
struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Cells = std::unique_ptr<Cell[], Free>;
Cells make_cells(std::uint64_t bytes);  // all zero: nobody touched anything

struct Allocation {
  unsigned char* data = nullptr;
  std::uintptr_t base = 0;                                      // the same as a number
  std::uint64_t rows = 0, row_bytes = 0, stride = 0, span = 0;  // rows without padding between them count as one
  std::uint64_t named_row = 0;                                  // bytes of a row as findings count them
  bool initialised = false, writable = false;
  std::string name;
  Cells cells;               // none where nothing may write
  std::uint64_t window = 0;  // where the row of the last access begins: spares the division

  // The offset of an access from the base, or -1 if it leaves its row.
  std::int64_t locate(std::uintptr_t at, std::uint64_t bytes) {
    const std::uint64_t offset = at - base;
    const std::uint64_t in_row = offset - window;
    if (in_row < row_bytes && bytes <= row_bytes - in_row) [[likely]]
      return static_cast<std::int64_t>(offset);
    return locate_row(offset, bytes);
  }
  bool inside(std::uintptr_t at) const { return at - base < span && (at - base) % stride < row_bytes; }

 private:
  std::int64_t locate_row(std::uint64_t offset, std::uint64_t bytes);
};

class Memory {
 public:
  // Two operands over exactly the same bytes become one range with the rights of both. Other overlaps, and bases
  // that are not a multiple of two, throw std::invalid_argument. Empty ranges are ignored.
  void add(const Range& range);

  // The range an address belongs to, its end and its padding included; null if none.
  Allocation* find(const void* p);

  std::uint32_t now = 0;  // logical time (stamp.h)

 private:
  struct Recent {
    const void* address = nullptr;
    Allocation* range = nullptr;
  };
  std::vector<std::unique_ptr<Allocation>> ranges_;
  std::array<Recent, 64> recent_{};
};

}  // namespace tokitai::lockstep

// A row of data is a slice of a table of a million deviates, from an offset drawn for that row: as good for
// finding wrong bits as fresh deviates, and far cheaper.
#include "problems/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "numerics/half.h"
#include "numerics/philox.h"

namespace tokitai::problems {
namespace {

constexpr std::int64_t kTable = std::int64_t{1} << 20;

const std::vector<float>& normals() {
  static const std::vector<float> table = [] {
    std::vector<float> values(kTable);
    const Philox random{.seed = 0x746f6b69, .stream = 0};
    for (std::int64_t i = 0; i < kTable; ++i)
      values[static_cast<std::size_t>(i)] = random.normal(static_cast<std::uint64_t>(i));
    return values;
  }();
  return table;
}

struct Range {
  float huge, smallest_normal;
};
Range range_of(Type type) { return type == Type::f16 ? Range{60000.0f, 0x1p-14f} : Range{0x1p126f, 0x1p-126f}; }

// One value: z is a standard normal deviate, i the position in the row, w a random word.
float shape(Family family, Range range, float z, std::int64_t i, std::uint32_t w) {
  switch (family) {
    case Family::normal: return z;
    case Family::huge: return range.huge * std::fmin(1.0f, std::fmax(-1.0f, z));
    case Family::subnormal: return z * range.smallest_normal;
    case Family::cancelling: return (i % 2 == 0 ? 1024.0f : -1024.0f) + z * 0x1p-3f;
    case Family::constant: return 0.7f;
    case Family::zero: return z < 0 ? -0.0f : 0.0f;
    case Family::special: break;
  }
  if (w % 61 == 0) return from_bits(0x7f800000u | (w & 0x80000000u));            // an infinity
  if (w % 67 == 0) return from_bits(0x7f800001u | (w & 0x807fe000u) | 0x2000u);  // a NaN with a payload
  return z;
}

void write(const View& view, std::int64_t row, std::int64_t col, float value) {
  const std::int64_t at = view.line_offset(row) + col;
  // A NaN keeps its payload's top bits: narrowing would make it canonical, and inputs are not.
  const auto top = static_cast<std::uint16_t>(bits(value) >> 16);
  if (view.type == Type::f32)
    static_cast<float*>(view.data)[at] = value;
  else if (view.type == Type::bf16)
    static_cast<std::uint16_t*>(view.data)[at] = value != value ? top | 0x40 : narrow_bf16(value);
  else
    static_cast<std::uint16_t*>(view.data)[at] =
        value != value ? static_cast<std::uint16_t>(0x7c01 | (top & 0x80ff) | 0x0100) : narrow_f16(value);
}

}  // namespace

std::string_view name_of(Family family) {
  constexpr std::string_view names[] = {"normal", "huge", "subnormal", "cancelling", "constant", "zero", "special"};
  return names[static_cast<std::size_t>(family)];
}

void fill(const View& view, Family family, std::uint64_t seed, std::uint64_t stream, bool nonnegative,
          Filling filling) {
  if (view.elements() == 0) return;
  const std::vector<float>& table = normals();
  const Philox random{.seed = seed, .stream = stream};
  const Range range = range_of(view.type);
  // A vector is one row, however long.
  const std::int64_t rows = view.lines(), cols = view.line_elements();
  const auto bytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements) * size_of(view.type); };
  auto* base = static_cast<std::byte*>(view.data);
  const std::int64_t drawn_rows = filling == Filling::whole ? rows : std::min(rows, kTable / cols + 1);
  const std::int64_t drawn_cols = filling == Filling::whole ? cols : std::min(cols, kTable);
  for (std::int64_t r = 0; r < drawn_rows; ++r) {
    const PhiloxWords words = random.at(static_cast<std::uint64_t>(r));
    const std::uint32_t offset = words.word[0];
    for (std::int64_t c = 0; c < drawn_cols; ++c) {
      const auto place = static_cast<std::size_t>((offset + c) & (kTable - 1));
      const float z = table[place];
      const std::uint32_t w = bits(table[(place * 31 + words.word[1]) & (kTable - 1)]) * 2654435761u;
      const float value = shape(family, range, z, c, w);
      write(view, r, c, nonnegative ? std::fabs(value) : value);
    }
    std::byte* row = base + bytes(view.line_offset(r));
    for (std::int64_t c = drawn_cols; c < cols; c += drawn_cols)
      std::memcpy(row + bytes(c), row, bytes(std::min(drawn_cols, cols - c)));
  }
  for (std::int64_t r = drawn_rows; r < rows; ++r)
    std::memcpy(base + bytes(view.line_offset(r)), base + bytes(view.line_offset(r % drawn_rows)), bytes(cols));
}

namespace {
// An index in [0, limit), from a number between 0 and 1.
std::int64_t spread_over(std::int64_t limit, Spread spread, double u) {
  std::int64_t v = limit / 3;
  if (spread == Spread::uniform) v = static_cast<std::int64_t>(u * static_cast<double>(limit));
  if (spread == Spread::zipf) v = static_cast<std::int64_t>(std::pow(static_cast<double>(limit), u)) - 1;
  return std::min(std::max<std::int64_t>(v, 0), limit - 1);
}
void write_integer(const View& view, std::int64_t at, std::int64_t value) {
  if (view.type == Type::i32)
    static_cast<std::int32_t*>(view.data)[at] = static_cast<std::int32_t>(value);
  else
    static_cast<std::int64_t*>(view.data)[at] = value;
}
}  // namespace

void fill_indices(const View& view, std::int64_t limit, Spread spread, std::uint64_t seed, std::uint64_t stream,
                  const std::int64_t* hole) {
  const Philox random{.seed = seed, .stream = stream};
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    const std::int64_t at = view.row_offset(i / view.cols()) + i % view.cols();
    const PhiloxWords words = random.at(static_cast<std::uint64_t>(i));
    const double u = (words.word[0] + 0.5) * 0x1p-32;
    const bool left_out = hole != nullptr && words.word[1] % 16 == 0;
    write_integer(view, at, left_out ? *hole : spread_over(limit, spread, u));
  }
}

void fill_offsets(const View& view, std::int64_t rows, Spread spread, std::uint64_t seed, std::uint64_t stream) {
  const Philox random{.seed = seed, .stream = stream};
  const std::int64_t groups = view.elements() - 1;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups), 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double u = (random.at(static_cast<std::uint64_t>(r)).word[0] + 0.5) * 0x1p-32;
    std::int64_t group = spread == Spread::equal ? r * groups / rows : spread_over(groups, spread, u);
    if (spread != Spread::equal && group % 4 == 3) --group;
    ++sizes[static_cast<std::size_t>(group)];
  }
  write_integer(view, 0, 0);
  std::int64_t end = 0;
  for (std::int64_t g = 0; g < groups; ++g) write_integer(view, g + 1, end += sizes[static_cast<std::size_t>(g)]);
}

}  // namespace tokitai::problems

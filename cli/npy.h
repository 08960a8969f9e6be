// NumPy's .npy files, strictly: little-endian f2 f4 i4 i8 u2, C order, one or two dimensions. A header is data,
// never evaluated; what it claims is checked against the file's real size before any memory is taken.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tokitai/status.h"

namespace tokitai::cli {

enum class NpyType : std::uint8_t { f2, f4, i4, i8, u2 };

std::string_view descr_of(NpyType type);  // "<f2"
std::int64_t size_of(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::f4;
  int rank = 1;
  std::array<std::int64_t, 2> shape{0, 1};
  std::int64_t data_offset = 0;

  std::int64_t bytes() const { return shape[0] * shape[1] * size_of(type); }  // known not to overflow
};

// The header text between the length field and the data.
Result<NpyHeader> parse_npy_dictionary(std::string_view text);
// Everything before the data, version 1.0, data aligned to 64 bytes.
std::string npy_header_text(const NpyHeader& header);

// Messages name the file. The data's size is known to match when this succeeds.
Result<NpyHeader> read_npy_header(const std::string& path);
// Reads the data behind `header` into `memory`, which holds header.bytes().
Status read_npy_data(const std::string& path, const NpyHeader& header, void* memory);

}  // namespace tokitai::cli

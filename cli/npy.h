// NumPy's .npy files, strictly: little-endian f2 f4 i4 i8 u2, C order. A header is data, never evaluated; what it
// claims is checked against the file's real size before any memory is taken.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/status.h"

namespace tokitai::cli {

enum class NpyType : std::uint8_t { f2, f4, i4, i8, u2 };

std::string_view descr_of(NpyType type);  // "<f2"
std::int64_t size_of(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::f4;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;

  std::int64_t elements() const;  // known not to overflow, nor are their bytes
  std::int64_t bytes() const { return elements() * size_of(type); }
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

// Frames of the older protocol on a pair of descriptors: a little-endian u32 length and that many bytes.
#pragma once
#include <string>
#include <string_view>

namespace tokitai::requests {

inline constexpr int kShortLength = 20;
inline constexpr int kShortPayload = 21;

struct Frame {
  int status = 0;  // 0, kShortLength or kShortPayload
  bool ended = false;
  std::string bytes;
};
// A length that lies costs nothing: memory grows with the bytes that come.
Frame read_frame(int descriptor);
// False: nobody reads any more.
bool write_frame(int descriptor, std::string_view bytes);

// Everything until the end of input.
std::string read_all(int descriptor);

}  // namespace tokitai::requests

#include "requests/frames.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tokitai::requests {
namespace {

constexpr std::size_t kPiece = 1 << 20;

// Appends up to `bytes`; fewer where the input ends.
void read_up_to(int descriptor, std::size_t bytes, std::string& to) {
  const std::size_t end = to.size() + bytes;
  while (to.size() < end) {
    const std::size_t had = to.size();
    to.resize(had + std::min(kPiece, end - had));
    const ssize_t got = ::read(descriptor, to.data() + had, to.size() - had);
    to.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0 || (got < 0 && errno != EINTR)) return;
  }
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

}  // namespace

Frame read_frame(int descriptor) {
  std::string length;
  read_up_to(descriptor, sizeof(std::uint32_t), length);
  if (length.empty()) return {0, true, {}};
  if (length.size() < sizeof(std::uint32_t)) return {kShortLength, true, {}};
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, length.data(), sizeof bytes);
  Frame frame;
  read_up_to(descriptor, bytes, frame.bytes);
  if (frame.bytes.size() < bytes) return {kShortPayload, true, {}};
  return frame;
}

bool write_frame(int descriptor, std::string_view bytes) {
  if (bytes.size() > UINT32_MAX) return false;
  const auto length = static_cast<std::uint32_t>(bytes.size());
  char prefix[sizeof length];
  std::memcpy(prefix, &length, sizeof length);
  return write_all(descriptor, {prefix, sizeof prefix}) && write_all(descriptor, bytes);
}

std::string read_all(int descriptor) {
  std::string all;
  read_up_to(descriptor, SIZE_MAX, all);
  return all;
}

}  // namespace tokitai::requests

// libFuzzer: a connection's bytes, in pieces of any size. The first byte says how they are cut; what comes out is what
// the messages' headers say, no more memory is taken than was granted, and the cutting changes nothing.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "server/inbox.h"

using namespace tokitai;
using namespace tokitai::server;

namespace {

constexpr std::uint32_t kMost = 4096;

// Everything that came out, and why it ended.
std::string read_in_pieces(std::string_view bytes, std::size_t piece) {
  std::string out;
  Inbox inbox(kMost);
  for (;;) {
    if (inbox.complete()) {
      const Message message = inbox.take();
      if (message.body.size() != message.header.length || message.body.size() > kMost || inbox.begun()) std::abort();
      const auto header = encode(message.header);
      out.append(header.data(), header.size()).append(message.body);
      continue;
    }
    if (inbox.asks()) {
      if (inbox.length() > kMost || !inbox.room().empty()) std::abort();
      inbox.grant();
      continue;
    }
    const std::span<char> room = inbox.room();
    const std::size_t count = std::min({room.size(), piece, bytes.size()});
    if (count == 0) return out + (inbox.begun() ? "cut" : "end");
    std::memcpy(room.data(), bytes.data(), count);
    bytes.remove_prefix(count);
    if (Status s = inbox.took(count); !s.ok()) return out + s.message();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (read_in_pieces(bytes, 1 + data[0] % 64) != read_in_pieces(bytes, SIZE_MAX)) std::abort();
  return 0;
}

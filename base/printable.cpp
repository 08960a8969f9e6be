#include "base/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace tokitai::base {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

// The shortest form alone is UTF-8; halves of UTF-16 pairs are not.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes > text.size()) return {};
  char32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool good = code >= kSmallest[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return good ? Character{code, bytes} : Character{};
}

bool steers(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||                            // control characters
         code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||  // lines, directions
         (code >= 0x2066 && code <= 0x2069);
}

std::string spelled(std::string_view text, std::string_view kept) {
  std::string out;
  while (!text.empty()) {
    const Character next = first_of(text);
    if (next.bytes == 0)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (steers(next.code) && kept.find(text[0]) == std::string_view::npos)
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(next.code));
    else
      out += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return out;
}

}  // namespace

std::size_t cut_character(std::string_view text) {
  for (std::size_t bytes = 1; bytes < 4 && bytes <= text.size(); ++bytes) {
    const unsigned lead = static_cast<unsigned char>(text[text.size() - bytes]);
    if ((lead & 0xc0) == 0x80) continue;
    const std::size_t needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return needed > bytes ? bytes : 0;
  }
  return 0;
}

std::string printable(std::string_view text) { return spelled(text, "\n\t"); }
std::string one_line(std::string_view text) { return spelled(text, ""); }

}  // namespace tokitai::base

// Text by the line.
#pragma once
#include <algorithm>
#include <string_view>

namespace tokitai::base {

inline std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlank = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::size_t last = text.find_last_not_of(kBlank);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

template <class F> void for_each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace tokitai::base

// A text by its lines and a line by its words, for messages that say where.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/lines.h"
#include "tokitai/status.h"

namespace tokitai::loader {

struct Line {
  std::string_view path;
  int number = 0;
  std::string_view rest;

  template <class... Args> Status refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return Status::invalid(fmt::format("{}:{}: {}", path, number, fmt::format(format, std::forward<Args>(args)...)));
  }
  // The next word, up to a blank; empty at the end.
  std::string_view word() {
    rest = base::trimmed(rest);
    const std::string_view found = rest.substr(0, std::min(rest.find_first_of(" \t"), rest.size()));
    rest = base::trimmed(rest.substr(found.size()));
    return found;
  }
  // What stands behind the colon.
  Status text(std::string_view of, std::string_view& to) const {
    if (!rest.starts_with(':') || base::trimmed(rest.substr(1)).empty())
      return refuse("{}: what it is, behind a colon, is missing", of);
    to = base::trimmed(rest.substr(1));
    return {};
  }
};

}  // namespace tokitai::loader

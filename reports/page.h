// What reports are put together from: HTML with every text escaped, numbers and digests as people read them.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tokitai::evidence {

// Text that can stand between tags and in attributes.
std::string escaped(std::string_view text);
// An operator's name, which may break after its dots and underscores.
std::string breakable(std::string_view name);
std::string grouped(std::int64_t number);             // 12,345,678
std::string short_digest(const std::string& digest);  // its first 12 digits

class Page {
 public:
  // Everything before the content, in the one style.
  explicit Page(std::string_view title);

  template <class... Values> void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }
  void list(std::string_view kind, const std::vector<std::string>& sentences);
  void claims(const std::vector<std::string>& claims, const std::vector<std::string>& non_claims);  // side by side
  // A table of names and values; the values are HTML already.
  void facts(const std::vector<std::pair<std::string, std::string>>& rows);
  std::string done() &&;

 private:
  std::string out_;
};

}  // namespace tokitai::evidence

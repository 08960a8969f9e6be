// Numbers in a text request, separated by white space. Strict: a token is a number as a whole or it is none, and a
// count is held against the bytes that are left before anything is allocated for it.
#pragma once
#include <charconv>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "contract/parse.h"

namespace tokitai::requests {

class Tokens {
 public:
  explicit Tokens(std::string_view text) : left_(text) {}

  std::string_view next() {
    const std::size_t begin = left_.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) {
      left_ = {};
      return {};
    }
    const std::size_t end = std::min(left_.find_first_of(kSpace, begin), left_.size());
    const std::string_view token = left_.substr(begin, end - begin);
    left_.remove_prefix(end);
    return token;
  }
  // False: there is no token, or it is no number of that type.
  template <class T> bool get(T& value) {
    const std::string_view token = next();
    if constexpr (std::is_same_v<T, float>) return parse_f32(token, value) == std::errc();
    const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    return !token.empty() && error == std::errc() && stop == token.data() + token.size();
  }
  // Numbers that are separated take two bytes each, but for the last.
  bool may_hold(std::int64_t count) const {
    return count >= 0 && static_cast<std::uint64_t>(count) <= (left_.size() + 1) / 2;
  }
  template <class T> bool get(std::vector<T>& values, std::int64_t count) {
    if (!may_hold(count)) return false;
    values.resize(static_cast<std::size_t>(count));
    for (T& value : values)
      if (!get(value)) return false;
    return true;
  }
  bool at_end() const { return left_.find_first_not_of(kSpace) == std::string_view::npos; }

 private:
  static constexpr std::string_view kSpace = " \t\n\v\f\r";
  std::string_view left_;
};

}  // namespace tokitai::requests

// Little-endian numbers and length-checked texts in a byte string. A reader never goes past its end: the first thing
// that does not fit makes it fail for good, so that a parser asks once, at the end.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace tokitai::base {

static_assert(std::endian::native == std::endian::little, "messages are written as they lie in memory");

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

class Writer {
 public:
  template <Number T> void put(T value) {
    const auto at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <Number T> T get() {
    T value{};
    if (left_.size() < sizeof value) fail();
    if (failed_) return T{};
    left_.copy(reinterpret_cast<char*>(&value), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view get_text(std::size_t most) {
    const auto length = get<std::uint32_t>();
    if (length > most || length > left_.size()) fail();
    if (failed_) return {};
    const std::string_view text = left_.substr(0, length);
    left_.remove_prefix(length);
    return text;
  }
  void fail() {
    failed_ = true;
    left_ = {};
  }
  std::size_t left() const { return left_.size(); }
  bool failed() const { return failed_; }
  // Everything was there, and nothing more.
  bool complete() const { return !failed_ && left_.empty(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

}  // namespace tokitai::base

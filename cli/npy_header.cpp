// A parser for the one dictionary that a .npy header may hold: 'descr', 'fortran_order' and 'shape', each once,
// in any order. No other Python is understood.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/npy.h"

namespace tokitai::cli {
namespace {

constexpr struct {
  NpyType type;
  std::string_view descr;
  std::int64_t size;
} kTypes[] = {{NpyType::f2, "<f2", 2},
              {NpyType::f4, "<f4", 4},
              {NpyType::i4, "<i4", 4},
              {NpyType::i8, "<i8", 8},
              {NpyType::u2, "<u2", 2}};

// A piece of a stranger's file, fit for a message: short, one line, no control characters.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string out;
  for (const char c : text.substr(0, kMost)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kMost ? out + "..." : out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  Result<NpyHeader> run() {
    if (text_.empty() || text_.back() != '\n') return fail("its header does not end in a newline");
    rest_.remove_suffix(1);
    if (!take('{')) return fail(fmt::format("its header is no dictionary: '{}'", shown(text_)));
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return malformed();
      const Status status = *key == "descr"           ? descr()
                            : *key == "fortran_order" ? order()
                            : *key == "shape"         ? shape()
                                                      : unknown(*key);
      if (!status.ok()) return status;
      if (!take(',') && !next_is('}')) return malformed();
    }
    blanks();
    if (!rest_.empty()) return fail(fmt::format("its header goes on behind the dictionary: '{}'", shown(rest_)));
    if (!descr_ || !order_ || !shape_)
      return fail(fmt::format("its header lacks the key '{}'", !descr_   ? "descr"
                                                               : !order_ ? "fortran_order"
                                                                         : "shape"));
    return header_;
  }

 private:
  static Status fail(std::string message) { return Status::invalid(std::move(message)); }
  Status malformed() const { return fail(fmt::format("its header is malformed at '{}'", shown(rest_))); }
  static Status unknown(std::string_view key) {
    return fail(fmt::format("its header has the key '{}'; allowed are descr, fortran_order and shape", shown(key)));
  }

  void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool next_is(char c) {
    blanks();
    return rest_.starts_with(c);
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> string() {
    const char quote = next_is('\'') ? '\'' : '"';
    if (!take(quote)) return {};
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return {};
    const std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return value;
  }
  static bool first(bool& seen) { return !std::exchange(seen, true); }

  Status descr() {
    if (!first(descr_)) return fail("its header has the key 'descr' twice");
    const auto value = string();
    for (const auto& known : kTypes)
      if (value == known.descr) {
        header_.type = known.type;
        return {};
      }
    return fail(fmt::format("it holds elements of type '{}'; allowed are <f2, <f4, <i4, <i8, and <u2 for bf16",
                            shown(value ? *value : rest_)));
  }

  Status order() {
    if (!first(order_)) return fail("its header has the key 'fortran_order' twice");
    if (take("False")) return {};
    if (take("True")) return fail("it is in Fortran order; save numpy.ascontiguousarray(...) of it");
    return fail(fmt::format("its fortran_order is '{}'; it must be False", shown(rest_)));
  }

  Status shape() {
    if (!first(shape_)) return fail("its header has the key 'shape' twice");
    blanks();
    const std::string_view whole = rest_.substr(0, std::min(rest_.find(')'), rest_.size() - 1) + 1);
    if (!take('(')) return fail(fmt::format("its shape is '{}'; it must be a tuple of integers", shown(rest_)));
    constexpr std::size_t kMostDimensions = 32;
    std::vector<std::int64_t>& sizes = header_.shape;
    std::int64_t bytes = 8;  // the largest element, so that no type can overflow
    for (bool comma = true; !take(')'); comma = take(',')) {
      blanks();
      std::int64_t size = 0;
      const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      const bool padded = rest_.starts_with('0') && stop - rest_.data() > 1;  // 03 is no Python integer
      if (!comma || rest_.empty() || rest_[0] < '0' || rest_[0] > '9' || padded)
        return fail(fmt::format("its shape is '{}'; it must be a tuple of integers >= 0", shown(whole)));
      if (error != std::errc() || __builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
        return fail(fmt::format("its shape is '{}': more elements than 64 bits can count in bytes", shown(whole)));
      rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
      if (sizes.size() == kMostDimensions)
        return fail(fmt::format("its shape is '{}': more than {} dimensions", shown(whole), kMostDimensions));
      sizes.push_back(size);
      if (sizes.size() == 1 && next_is(')'))
        return fail(fmt::format("its shape is '{}'; it must be a tuple", shown(whole)));
    }
    return {};
  }

  std::string_view text_, rest_;
  NpyHeader header_;
  bool descr_ = false, order_ = false, shape_ = false;
};

}  // namespace

std::string_view descr_of(NpyType type) { return kTypes[static_cast<std::size_t>(type)].descr; }
std::int64_t size_of(NpyType type) { return kTypes[static_cast<std::size_t>(type)].size; }

std::int64_t NpyHeader::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Result<NpyHeader> parse_npy_dictionary(std::string_view text) { return Parser(text).run(); }

std::string npy_header_text(const NpyHeader& header) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr_of(header.type),
                  fmt::join(header.shape, ", "), header.shape.size() == 1 ? "," : "");
  constexpr std::size_t kPrefix = 10, kAlignment = 64;
  dictionary.resize((kPrefix + dictionary.size() + kAlignment) / kAlignment * kAlignment - kPrefix - 1, ' ');
  dictionary += '\n';
  const auto length = static_cast<std::uint16_t>(dictionary.size());
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(length & 0xFF);
  text += static_cast<char>(length >> 8);
  return text + dictionary;
}

}  // namespace tokitai::cli

// A small recursive-descent reader that evaluates while it reads.
#include "contract/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <vector>

namespace tokitai {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Values stay in [-kMost, kMost], so that a sign can always be changed.
std::int64_t clamped(__int128 value) {
  return value > kMost ? kMost : value < -kMost ? -kMost : static_cast<std::int64_t>(value);
}

bool is_integer(Type type) { return type == Type::i32 || type == Type::i64; }

// How many different values a vector of integers holds.
std::int64_t distinct(const View& view) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(view.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = view.type == Type::i32 ? static_cast<const std::int32_t*>(view.data)[i]
                                       : static_cast<const std::int64_t*>(view.data)[i];
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin();
}

class Reader {
 public:
  Reader(std::string_view text, const Call& call, const Operands& set, int threads, Values values)
      : rest_(text), call_(call), set_(set), threads_(threads), values_(values) {}

  Result<std::int64_t> value() {
    const std::int64_t all = sum();
    skip();
    if (!rest_.empty()) fail("is not expected");
    if (!wrong_.empty()) return Status(Code::internal, wrong_);
    return all;
  }

 private:
  void fail(std::string_view why) {
    if (wrong_.empty())
      wrong_ = fmt::format("{}: in a formula of the contract '{}' {}", call_.contract->name, rest_, why);
    rest_ = {};
  }
  void skip() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::int64_t sum() {
    std::int64_t all = product();
    for (;;) {
      if (take('+'))
        all = clamped(__int128{all} + product());
      else if (take('-'))
        all = clamped(__int128{all} - product());
      else
        return all;
    }
  }
  std::int64_t product() {
    std::int64_t all = factor();
    while (take('*')) all = clamped(__int128{all} * factor());
    return all;
  }
  std::int64_t factor() {
    if (take('(')) {
      const std::int64_t inner = sum();
      if (!take(')')) fail("lacks a ')'");
      return inner;
    }
    skip();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc()) {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      return number;
    }
    const std::string_view name = word();
    return take('(') ? function(name) : variable(name);
  }
  std::string_view word() {
    skip();
    std::size_t n = 0;
    while (n < rest_.size() && (rest_[n] == '_' || std::isalnum(static_cast<unsigned char>(rest_[n])) != 0)) ++n;
    const std::string_view name = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return name;
  }
  std::int64_t function(std::string_view name) {
    std::int64_t result = 0;
    if (name == "ceil") {
      const std::int64_t a = sum();
      const std::int64_t b = take(',') ? sum() : 0;
      if (b < 1) fail("lacks a divisor");
      result = b < 1 ? 0 : clamped((__int128{a} + b - 1) / b);
    } else if (name == "min") {
      const std::int64_t a = sum();
      if (!take(',')) fail("lacks a second value");
      result = std::min(a, sum());
    } else {
      const int index = call_.contract->operand_index(word());
      if (index < 0) {
        fail("names no operand");
        return 0;
      }
      const View& view = set_[static_cast<std::size_t>(index)];
      const bool once = call_.contract->has_once(call_.contract->operands[static_cast<std::size_t>(index)]);
      if (name == "bytes")
        result = view.elements() * static_cast<std::int64_t>(size_of(view.type));
      else if (name == "elements")
        result = view.elements();
      else if (name == "given")
        result = (once ? call_.list.front()[static_cast<std::size_t>(index)] : view).present() ? 1 : 0;
      else if (name == "size")
        result = static_cast<std::int64_t>(size_of(view.type));
      else if (name == "distinct")
        result = values_ == Values::read && is_integer(view.type) ? distinct(view) : view.elements();
      else
        fail("calls no function");
    }
    if (!take(')')) fail("lacks a ')'");
    return result;
  }
  std::int64_t variable(std::string_view name) {
    if (name == "threads") return threads_;
    bool symbol = false;  // of this set: the tensors of a list have sizes of their own
    for (std::size_t i = 0; i < call_.contract->operands.size() && !name.empty(); ++i)
      for (std::size_t d = 0; d < kMaxRank; ++d) {
        if (call_.contract->operands[i].shape[d] != name) continue;
        if (set_[i].present()) return set_[i].shape[d];
        symbol = true;
      }
    if (const int option = call_.contract->option_index(name); option >= 0)
      return call_.option(option).set ? call_.option(option).i : 0;
    if (!symbol) fail(fmt::format("begins after '{}', which is no symbol of it", name));
    return 0;
  }

  std::string_view rest_;
  const Call& call_;
  const Operands& set_;
  int threads_;
  Values values_;
  std::string wrong_;
};

}  // namespace

Result<std::int64_t> evaluate(std::string_view formula, const Call& call, int threads, Values values) {
  if (!call.contract->list) return Reader(formula, call, call.operands, threads, values).value();
  std::int64_t all = 0;
  for (const Operands& set : call.list) {
    const auto one = Reader(formula, call, set, threads, values).value();
    if (!one.ok()) return one;
    all = clamped(__int128{all} + one.value());
  }
  return all;
}

}  // namespace tokitai

#include "loader/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tokitai::loader {

// Recursive descent; deeper than this is nobody's formula.
class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : text_(text) {}

  Result<Expression> read() {
    sum();
    skip();
    if (error_.empty() && at_ != text_.size()) fail("an operation");
    if (!error_.empty()) return Status::invalid(error_);
    return std::move(out_);
  }

 private:
  static constexpr int kDeepest = 100;

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    return ++at_, true;
  }
  void fail(std::string_view wanted) {
    if (!error_.empty()) return;
    error_ = at_ < text_.size() ? fmt::format("'{}' where {} should be", text_.substr(at_), wanted)
                                : fmt::format("it ends where {} should be", wanted);
    at_ = text_.size();
  }
  void step(char what) { out_.steps_.push_back({what}); }

  void sum() {
    term();
    for (;;) {
      const char what = take('+') ? '+' : take('-') ? '-' : '\0';
      if (what == '\0') return;
      term();
      step(what);
    }
  }
  void term() {
    factor();
    for (;;) {
      const char what = take('*') ? '*' : take('/') ? '/' : '\0';
      if (what == '\0') return;
      factor();
      step(what);
    }
  }
  void factor() {
    if (++depth_ > kDeepest) return fail("something simpler");
    if (take('-')) {
      factor();
      step('n');
    } else {
      single();
      if (take('^')) {
        factor();
        step('^');
      }
    }
    --depth_;
  }
  void single() {
    if (take('(')) {
      sum();
      if (!take(')')) fail("a )");
      return;
    }
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.' ||
            // 1e-5
            ((text_[at_] == '-' || text_[at_] == '+') && at_ > begin && text_[at_ - 1] == 'e' &&
             std::isdigit(static_cast<unsigned char>(text_[begin])) != 0)))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return fail("a number or a name");
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      double number = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || end != word.data() + word.size()) {
        at_ = begin;
        return fail("a number");
      }
      out_.steps_.push_back({'#', number});
    } else if (word == "sqrt") {
      if (!take('(')) return fail("a (");
      sum();
      if (!take(')')) fail("a )");
      step('r');
    } else {
      const auto known = std::find(out_.names_.begin(), out_.names_.end(), word);
      out_.steps_.push_back({'a', 0, static_cast<std::size_t>(known - out_.names_.begin())});
      if (known == out_.names_.end()) out_.names_.emplace_back(word);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string error_;
  Expression out_;
};

Result<Expression> Expression::parse(std::string_view text) {
  constexpr std::size_t kLongest = 1000;
  if (text.size() > kLongest)
    return Status::invalid(fmt::format("it has {} characters; at most {} are read", text.size(), kLongest));
  return ExpressionReader(text).read();
}

namespace {
std::optional<double> power(double base, double exponent) {
  if (!(exponent >= 0 && exponent < 0x1p31) || exponent != std::floor(exponent)) return {};
  double value = 1;
  for (auto left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1, base = base * base)
    if ((left & 1u) != 0) value = value * base;
  return value;
}
}  // namespace

std::optional<double> Expression::value(const std::function<double(std::string_view)>& of) const {
  std::vector<double> stack;
  const auto pop = [&] {
    const double top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const Step& step : steps_) {
    if (step.what == '#') {
      stack.push_back(step.number);
    } else if (step.what == 'a') {
      stack.push_back(of(names_[step.name]));
    } else if (step.what == 'n') {
      stack.back() = -stack.back();
    } else if (step.what == 'r') {
      stack.back() = std::sqrt(stack.back());
    } else {
      const double b = pop(), a = pop();
      const std::optional<double> made = step.what == '+'   ? a + b
                                         : step.what == '-' ? a - b
                                         : step.what == '*' ? a * b
                                         : step.what == '/' ? a / b
                                                            : power(a, b);
      if (!made) return {};
      stack.push_back(*made);
    }
  }
  return stack.back();
}

}  // namespace tokitai::loader

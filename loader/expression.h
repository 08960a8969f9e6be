// Numbers that a contract derives from options and sizes: 1/cap, 1 - beta^t. Evaluated in binary64 and rounded once to
// binary32 by who asks; powers are integer ones, by repeated squaring from the least significant bit.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/status.h"

namespace tokitai::loader {

class Expression {
 public:
  // Numbers, names, + - * / ^, sqrt(a), parentheses.
  static Result<Expression> parse(std::string_view text);

  const std::vector<std::string>& names() const { return names_; }
  // Nothing where a power is none of a whole number in [0, 2^31).
  std::optional<double> value(const std::function<double(std::string_view)>& of) const;

 private:
  // In the order of evaluation: an operand is pushed, an operation takes what it needs from the top.
  struct Step {
    char what;  // # a number, a a name, n negation, r a root, + - * / ^
    double number = 0;
    std::size_t name = 0;
  };
  friend class ExpressionReader;
  std::vector<Step> steps_;
  std::vector<std::string> names_;
};

}  // namespace tokitai::loader

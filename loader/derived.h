// The scalars of a contract that was read from a text: what a call's `prepare` makes of options and sizes.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"
#include "loader/expression.h"

namespace tokitai::loader {

struct Derived {
  std::string name;
  Expression expression;
  int line = 0;
};
using Sizes = std::set<std::string, std::less<>>;

// Refused: a name that is neither option nor scalar nor size, scalars that depend on each other in a circle.
Result<std::function<Status(Call&)>> preparation(const Contract& contract, const std::vector<Derived>& derived,
                                                 const Sizes& sizes, std::string_view path);

}  // namespace tokitai::loader

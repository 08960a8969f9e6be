// An option of a contract that is read from a text.
#pragma once
#include <deque>
#include <string>
#include <string_view>

#include "contract/contract.h"
#include "loader/lines.h"

namespace tokitai::loader {

// What stands behind its name: KIND, a value, limits, a text. `words` keeps what its views point at.
Result<OptionSpec> read_option(Line line, std::string_view name, std::deque<std::string>& words);

}  // namespace tokitai::loader

// The text of an option as the value a contract takes. Ranges are the contract's to check.
#pragma once
#include <string>

#include "contract/contract.h"

namespace tokitai::cli {

// f32: decimal, rounded once to the nearest binary32; nan and inf are let through for the contract to refuse by
// name. Integers: 64 bits, all of the text. Flags: 0, 1, false, true.
Result<Option> parse_option(const OptionSpec& spec, const std::string& text);

}  // namespace tokitai::cli

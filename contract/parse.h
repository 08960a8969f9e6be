// Options from text, for the command and the problem files: a decimal number is rounded once to binary32.
#pragma once
#include <string_view>

#include "contract/contract.h"

namespace tokitai {

// The value of the option `name`, or a sentence that names it, the text and what it should be.
Status parse_option(const Contract& contract, std::string_view name, std::string_view text, Option& option);

}  // namespace tokitai

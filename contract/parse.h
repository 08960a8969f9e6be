// Options from text, for the command and the problem files, and back: a decimal number is rounded once to binary32.
#pragma once
#include <string>
#include <string_view>

#include "contract/contract.h"

namespace tokitai {

// The value of the option `name`, or a sentence that names it, the text and what it should be.
Status parse_option(const Contract& contract, std::string_view name, std::string_view text, Option& option);

// A value that is set, as the text that stands for it.
std::string text_of(const OptionSpec& spec, const Option& option);

// The values it may have, in words.
std::string range_of(const OptionSpec& spec);

}  // namespace tokitai

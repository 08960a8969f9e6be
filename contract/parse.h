// Numbers and options from text, for the command, the problem files and text requests, and back: a decimal number is
// rounded once to binary32.
#pragma once
#include <string>
#include <string_view>
#include <system_error>

#include "contract/contract.h"

namespace tokitai {

// A decimal number, rounded once, to the nearest binary32; too small is a matter of rounding. `result_out_of_range`: it
// is too large; `invalid_argument`: the text is not a number as a whole. What "nan" and "inf" name is a number.
std::errc parse_f32(std::string_view text, float& value);

// The value of the option `name`, or a sentence that names it, the text and what it should be.
Status parse_option(const Contract& contract, std::string_view name, std::string_view text, Option& option);

// A value that is set, as the text that stands for it.
std::string text_of(const OptionSpec& spec, const Option& option);

// The values it may have, in words.
std::string range_of(const OptionSpec& spec);

}  // namespace tokitai

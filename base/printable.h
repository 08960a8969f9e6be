// Text for a terminal. What came out of a file, a name or another program may hold characters that steer one: move its
// cursor, clear it, change its title, turn the order of letters round.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tokitai::base {

// The text with such characters spelled out, \u001b, and bytes that are no UTF-8, \xff. Newlines and tabs stay.
std::string printable(std::string_view text);
// The same without newlines and tabs: a text that stands in a line cannot begin one.
std::string one_line(std::string_view text);
// How many bytes at the end of a text begin a character of UTF-8 and do not end it.
std::size_t cut_character(std::string_view text);

}  // namespace tokitai::base

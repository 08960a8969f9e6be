// Names that a contract may give: they become names in C++.
#pragma once
#include <string_view>

namespace tokitai::loader {

// Small letters, digits and _, not a digit first.
bool is_name(std::string_view word);
// A word of C++, which can name nothing.
bool is_keyword(std::string_view word);
// A family's name is a namespace inside ours, beside those that are there.
bool is_our_namespace(std::string_view word);

}  // namespace tokitai::loader

// What takes part in compiling a source: its text and the headers it can reach.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compiler.h"

namespace tokitai::compiler {

// The headers that `text` reaches through #include, transitively, ordered by name. Conditions are not evaluated, so
// that the answer holds for every target; an #include of a macro reaches every header.
std::vector<Header> reachable(std::string_view text, std::span<const Header> headers);

// Refuses what would make compiling depend on more than the source: header names that leave the bundle, options
// beyond a short list, the clock.
Status check_source(const Source& source, std::span<const Header> reached);

std::string digest_of(std::string_view text, std::span<const Header> reached);

}  // namespace tokitai::compiler

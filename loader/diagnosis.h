// What a compiler says of a definition, in a sentence with the definition's line.
#pragma once
#include <string>
#include <string_view>

#include "tokitai/status.h"

namespace tokitai::loader {

struct Definition;

// `log` as the compiler wrote it; the answer is `invalid`: PATH:LINE: a sentence.
Status diagnosis(const Definition& definition, std::string_view log);

}  // namespace tokitai::loader

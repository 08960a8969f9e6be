// The sentence for what a definition's own check refused, from its contract.
#pragma once
#include <string>

#include "contract/contract.h"

namespace tokitai::loader {

std::string refusal_of(const Call& call, std::int64_t position);

}  // namespace tokitai::loader

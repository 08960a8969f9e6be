// Whether the shapes that a contract states are such as the pattern of its definition takes its operands for.
#pragma once
#include <optional>

#include "contract/ways.h"

namespace tokitai {

// By what a definition asks for where everything is given.
std::optional<Disagreement> shape_disagreement(const Contract& contract, const Record& record);

}  // namespace tokitai

// What a call does with an operand, by the operand's role and the call's options.
#pragma once
#include "contract/contract.h"

namespace tokitai {

// Whether the call reads what an operand holds before.
bool reads(const Call& call, const OperandSpec& spec);
inline bool writes(const OperandSpec& spec) { return spec.role != Role::in; }

}  // namespace tokitai

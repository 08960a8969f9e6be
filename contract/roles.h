// A call's operands: the sets it has, and what it does with one by the operand's role and the call's options.
#pragma once
#include <span>

#include "contract/contract.h"

namespace tokitai {

// The operand sets of a call: one, or one per tensor of a list.
std::span<const Operands> sets_of(const Call& call);
std::span<Operands> sets_of(Call& call);

// Whether the call reads what an operand holds before.
bool reads(const Call& call, const OperandSpec& spec);
// The index that stands for none, or nullptr.
const std::int64_t* left_out(const Call& call, const OperandSpec& spec);
inline bool writes(const OperandSpec& spec) { return spec.role != Role::in; }

}  // namespace tokitai

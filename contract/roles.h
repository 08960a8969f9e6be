// A call's operands: the sets it has, and what it does with one by the operand's role and the call's options.
#pragma once
#include <span>

#include "contract/contract.h"

namespace tokitai {

// The operand sets of a call: one, or one per tensor of a list.
std::span<const Operands> sets_of(const Call& call);
std::span<Operands> sets_of(Call& call);

// The operand of a set that an output is to be written over, `wanted` or the first that it may: -1 where there is none.
int lies_over(const Contract& contract, const Operands& set, std::size_t operand, std::string_view wanted = {});

// Whether the call reads what an operand holds before.
bool reads(const Call& call, const OperandSpec& spec);
inline bool writes(const OperandSpec& spec) { return spec.role != Role::in; }

}  // namespace tokitai

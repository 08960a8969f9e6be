// Formulas as text, for cost and scratch memory: a program that reads a contract can evaluate them, and so do we.
//   threads * 1024 + 4 * (16 * ceil(cols, 16) + 192) * (threads * 5 + 2 * ceil(rows, 32))
// Integers, + - * and parentheses; shape symbols and options by name (an option that is not given counts as 0);
// `threads`; ceil(a, b), the quotient rounded up; bytes(x) and elements(x) of an operand, 0 where it is not given;
// given(x), 1 or 0. What would not fit stops at 2^63 - 1. For an operator over a list of tensors a formula holds for
// one of them, and the call's value is their sum.
#pragma once
#include <cstdint>
#include <string_view>

#include "contract/contract.h"

namespace tokitai {

// The call has passed its check. A formula that cannot be read is `internal`: contracts are ours.
Result<std::int64_t> evaluate(std::string_view formula, const Call& call, int threads = 1);

}  // namespace tokitai

// Formulas as text, for cost and scratch memory: a program that reads a contract can evaluate them, and so do we.
//   threads * 1024 + 4 * (16 * ceil(cols, 16) + 192) * (threads * 5 + 2 * ceil(rows, 32))
// Integers, + - * and parentheses; shape symbols and options by name (an option that is not given counts as 0);
// `threads`; ceil(a, b), the quotient rounded up; min(a, b); bytes(x) and elements(x) of an operand, 0 where it is not
// given; given(x), 1 or 0; size(x), the bytes of one element; distinct(x), how many different values a vector of
// integers holds. What would not fit stops at 2^63 - 1. For an operator over a list of tensors a formula holds for one
// of them, and the call's value is their sum.
#pragma once
#include <cstdint>
#include <string_view>

#include "contract/contract.h"

namespace tokitai {

// Where what is moved depends on values (embedding.forward: on the indices): they lie in the host's memory and are
// read, or they are not known, and as many rows are counted as there can be.
enum class Values : std::uint8_t { unknown, read };

// The call has passed its check. A formula that cannot be read is `internal`: contracts are ours.
Result<std::int64_t> evaluate(std::string_view formula, const Call& call, int threads = 1,
                              Values values = Values::unknown);

// The cost of a checked call, where its values are known.
Cost cost_of(const Call& call, Values values);

}  // namespace tokitai

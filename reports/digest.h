// SHA-256 of what evidence is about: contracts, sources, and the elements of operands.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/contract.h"

namespace tokitai::evidence {

// Of the contract's canonical JSON: one word changed gives another.
std::string contract_digest(const Contract& contract);

// Of a source text that is built into the library, by its path; empty where it is not.
std::string source_digest(std::string_view path);
// The path of an operator's definition.
std::string definition_path(const Contract& contract);

// Of an operand's elements as they are stored, in row order, without what lies between rows. For a list of tensors:
// of their elements one tensor after the other.
std::string elements_digest(const std::vector<Operands>& sets, std::size_t operand);

using NamedDigests = std::vector<std::pair<std::string, std::string>>;  // operand, digest

}  // namespace tokitai::evidence

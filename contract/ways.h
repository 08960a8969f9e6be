// The ways an operator can be asked, as calls over nothing: which optional operands are given, which options are set,
// whether scalars are zero. No pointer of them may be read through; describing one reads through none.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "contract/record.h"

namespace tokitai {

// What can be given or left out: an optional operand, or an option that is on or off.
struct Toggle {
  int operand = -1, option = -1;
  std::string factor;  // of a formula: 1 where it is given, else 0
};
std::vector<Toggle> toggles_of(const Contract& contract);

// Nothing optional, every option at its fallback, every scalar zero.
Call plainest_way(const Contract& contract);
// The same with one thing given, or two.
Call way_with(const Contract& contract, const Toggle& toggle, const Toggle& other = {});
// Every combination of optional operands that may be given together, with each flag off and on, each choice made, each
// integer that may be missing given; with scalars that are zero and that are not.
std::vector<Call> ways_of(const Contract& contract);

// The pattern of its definition.
Pattern pattern_of(const Contract& contract);

// Whether a definition and its contract speak of the same operands: nothing is read that is only written, nothing
// written that is only read, nothing left unread or unwritten, nothing read that is not given; and whether the shapes
// of operands are such as the pattern takes them for.
Status agrees(const Contract& contract);
// Where they do not: of which operand, and whether it is about writing it.
struct Disagreement {
  std::string sentence;
  int operand = -1;
  bool written = false;
  bool shape = false;  // it is about the contract's shapes, not about what the definition does
};
std::optional<Disagreement> disagreement(const Contract& contract, Describe describe);

}  // namespace tokitai

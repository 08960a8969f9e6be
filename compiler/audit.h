// A search of the machine text for what the contract forbids: anything that rounds otherwise than IEEE-754 to
// nearest even, flushes subnormals, approximates, or adds in an order that is not fixed; and memory spills.
// docs/compiler.md lists the rules.
#pragma once
#include <string>
#include <vector>

#include "compiler/compiler.h"

namespace tokitai::compiler {

struct Finding {
  std::string kernel;
  std::string rule;  // a few words, the same for every finding of the rule
  std::string line;  // of the text, or the figure
};

// Empty: nothing forbidden was found. Integer atomics (add, inc, min, max, whose results do not depend on the order)
// are allowed in a kernel whose name ends in "_check", or where the source declares them (kIntegerAtomicsMarker).
std::vector<Finding> audit(const Artifact& artifact, const Target& target);

}  // namespace tokitai::compiler

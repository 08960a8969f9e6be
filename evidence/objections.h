// What a predicate's own numbers say against it. One list for everybody who passes judgement: the reports' first
// sentence, the exit code of `tokitai verify --report`, and the audit, which trusts none of the numbers.
#pragma once
#include <string>
#include <vector>

#include "evidence/predicate.h"

namespace tokitai::evidence {

struct Objection {
  std::string what;  // "result of softmax.forward"
  std::string text;  // "2 outputs differed and 1 runs failed"
};

// Nothing: every problem was run, something was compared, nothing differs, no check found anything, no measured output
// is beyond its bound, every claim is proved, the counts are each other's sums and no larger than the problems' lines
// allow, and nothing stands twice.
std::vector<Objection> objections(const Predicate& predicate);

// The first of them as a failed check.
Status judged(const Predicate& predicate);

}  // namespace tokitai::evidence

// Running recorded problems again, here, and comparing what comes out with the digests that were recorded. Equal bits
// make that possible on another machine, another device and another number of threads.
#pragma once
#include <string>

#include "evidence/verify.h"

namespace tokitai::evidence {

struct ReplayResult {
  std::int64_t problems = 0, outputs = 0;  // operands whose digests were compared
  std::int64_t differing = 0;              // problems
  std::string first_difference;            // in words
};

// The problem that a recorded line stands for; `invalid` where it does not stand for just one.
Result<problems::Problem> single_problem(const std::string& line);

// `invalid`, and nothing was run, where a line stands for no single problem or for one that this machine's memory does
// not hold, or where all of them together are more work than anybody waits for.
Status replayable(const std::vector<ProblemResult>& recorded, int threads);
Result<ReplayResult> replay(const std::vector<ProblemResult>& recorded, Device& device, const Progress& progress);

}  // namespace tokitai::evidence

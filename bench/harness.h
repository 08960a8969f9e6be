// The one benchmark harness: times a problem on a device, checks a piece of its answer against the reference,
// and says how many bytes and operations the contract counts for it.
#pragma once
#include <cstdint>
#include <string>

#include "contract/contract.h"
#include "problems/problem.h"
#include "tokitai/device.h"

namespace tokitai::bench {

struct Timing {
  double seconds = 0;          // median
  double host_seconds = 0;     // GPUs: from a call to its return, which is before it is done
  double compile_seconds = 0;  // GPUs: what compiling its kernels took, once
  int repetitions = 0;
  Cost cost;
  std::int64_t checked = 0;  // outputs compared with the reference; none may differ
};

// At least five repetitions, and more until about `budget` seconds are spent.
Result<Timing> time_problem(const problems::Problem& problem, Device& device, double budget);

}  // namespace tokitai::bench

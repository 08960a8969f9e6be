// How accurate a device's outputs are over many problems (call_accuracy.h), by operator, output and family of data.
#pragma once
#include <functional>

#include "machines/analysis/call_accuracy.h"
#include "problems/problem.h"
#include "tokitai/device.h"

namespace tokitai::evidence {

struct OperatorAccuracy : AccuracyFigures {  // over all its outputs
  std::string name;                          // of the operator, and of its arithmetic where that is no chain
  std::int64_t problems = 0;
  std::vector<OutputAccuracy> by_output;  // over all data
  std::vector<OutputAccuracy> by_data;    // each family apart
};

// Called before each problem, from several threads: the problem, how many are done, how many there are.
using AccuracyProgress = std::function<void(const problems::Problem&, std::size_t, std::size_t)>;

// Problems are worked on by every core at once; the figures do not depend on how many there are.
Result<std::vector<OperatorAccuracy>> accuracy(const std::vector<problems::Problem>& problems, Device& device,
                                               const AccuracyProgress& progress = {});

// One problem with the analysis kernels given; tests hand in broken ones.
Result<OperatorAccuracy> accuracy_of(const problems::Problem& problem, Device& device,
                                     const analysis::Kernels& kernels);

}  // namespace tokitai::evidence

// A backward operator is the transpose of its forward's derivative: <w, J v> = <J^T w, v> for every direction v of the
// forward's inputs and every cotangent w of its outputs. The left side comes from the forward's definition over dual
// numbers. The right side comes twice: from the backward's definition in exact arithmetic, where both sides are
// narrow intervals that must meet, which shows that the formula is the gradient; and from what a device
// stored, which must be within the derived bound, rounding of the forward's saved outputs included.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machines/analysis/machine.h"
#include "problems/problem.h"
#include "tokitai/device.h"

namespace tokitai::evidence {

struct GradientResult {
  std::string name;  // of the backward operator
  std::int64_t problems = 0, directions = 0;
  std::int64_t failed = 0;     // directions in which the two sides differ by more than their intervals or bounds
  std::string first_failure;   // in words, with the problem's line
  double widest = 0;           // largest width of the hull of the two intervals, of the sum of |gradient * v|
  double worst_deviation = 0;  // largest distance of the device's side from the exact one, of the same sum
  double worst_bound = 0;      // largest derived bound of it
  double tightest = 0;         // largest ratio of distance to bound: at most 1
};

// What is checked: how a device runs the backward call, and its definition on the analysis machines.
struct Backward {
  std::function<Status(Call&)> device;
  analysis::Kernels kernels;
};

// Called before each problem, from several threads.
using GradientProgress = std::function<void(const problems::Problem&, std::size_t, std::size_t)>;

// Problems of backward operators, each in that many random directions; every core works.
Result<std::vector<GradientResult>> gradients(const std::vector<problems::Problem>& problems, int directions,
                                              Device& device, const GradientProgress& progress = {});

// One problem with the backward given; tests hand in broken ones. `device` runs the forward.
Result<GradientResult> gradient_of(const problems::Problem& problem, int directions, Device& device,
                                   const Backward& backward);

}  // namespace tokitai::evidence

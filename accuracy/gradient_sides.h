// One direction of a gradient check: the two sides of <w, J v> = <J^T w, v>, and the verdict.
#pragma once
#include <string>
#include <vector>

#include "accuracy/gradients.h"

namespace tokitai::evidence {

// Element e of an operand in row-major order.
float element(const View& view, std::size_t e);

// The most that a value of the bound machine is off once it is stored.
double stored_error(const analysis::Bound& bound, Type type);

struct Sides {
  analysis::Interval derivative;  // <w, J v>
  analysis::Interval formula;     // <J^T w, v> in exact arithmetic
  analysis::Interval device;      // <J^T w, v> of what was stored
  double bound = 0;               // of the device's side
  double size = 0;                // the sum of |gradient * v|

  // One element of a gradient and its share v of the direction; `before` is what the gradient was added to.
  void add(float v, const analysis::Interval& exact, const analysis::Bound& derived, const View& stored, std::size_t e,
           float before);
};

// Counts the direction, and fails it where the sides differ by more than they may.
void judge(const Sides& sides, const std::string& where, GradientResult& result);

// Some of a forward's inputs, each with a random direction.
struct Direction {
  std::vector<std::vector<float>> along;  // in the order of the inputs
  analysis::Sets<analysis::Dual> inputs = analysis::Sets<analysis::Dual>(1);

  Direction(const Operands& operands, const std::vector<std::size_t>& of, int number);
};

}  // namespace tokitai::evidence

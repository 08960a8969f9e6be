// Intervals through a table of functions, for kernels that are compiled where MPFI's headers need not be
// (loader/part_analysis.h).
#pragma once
#include "machines/analysis/interval.h"

namespace tokitai::analysis {

struct IntervalWords {
  void (*from_float)(void* at, float constant);
  void (*copy)(void* at, const Interval& other);
  void (*assign)(Interval& to, const Interval& from);
  void (*move)(Interval& to, Interval& from);
  void (*end)(Interval& one);
  Interval (*given)(float datum);
  Interval (*of)(double point);
  Interval (*scaled)(__int128 units, int exponent);
  Interval (*negative)(const Interval& a);
  Interval (*sum)(const Interval& a, const Interval& b);
  Interval (*difference)(const Interval& a, const Interval& b);
  Interval (*product)(const Interval& a, const Interval& b);
  Interval (*quotient)(const Interval& a, const Interval& b);
  Interval (*sqrt)(const Interval& a);
  Interval (*exp)(const Interval& a);
  Interval (*log)(const Interval& a);
  Interval (*tanh)(const Interval& a);
  Interval (*erf)(const Interval& a);
  Interval (*erf_slope)(const Interval& a);
  Interval (*maximum)(const Interval& a, const Interval& b);
  Interval (*hull)(const Interval& a, const Interval& b);
  Decision (*less)(const Interval& a, const Interval& b);
  Decision (*equal)(const Interval& a, const Interval& b);
};
extern const IntervalWords kIntervalWords;

}  // namespace tokitai::analysis

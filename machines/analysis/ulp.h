// Units in the last place. One unit of a storage type at a real number x is the spacing of that type's numbers in the
// binade of x, 2^e <= |x| < 2^(e+1), and never less than the spacing of its subnormal numbers. The binade is that of
// the exact result, not of the stored one, so a wrong output cannot choose its own yardstick; beyond the largest number
// the binades go on as if the exponent did.
#pragma once
#include "machines/analysis/interval.h"
#include "tokitai/view.h"

namespace tokitai::evidence {

// How far a stored number is from an enclosed real one, at the most: as a length and in units in the last place. Where
// the enclosure reaches over the end of a binade the smaller unit counts.
struct Distance {
  double length = 0, ulp = 0, unit = 0;
};
Distance distance(double stored, const analysis::Interval& exact, Type type);

// The value that a binary32 number has once it is stored.
double stored_value(float value, Type type);

}  // namespace tokitai::evidence

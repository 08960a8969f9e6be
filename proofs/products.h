// Products of two sizes. Solvers do not like them: here they are numbers of their own, of which nothing is known but
// their order, which is proved once.
#pragma once
#include <string>

#include "proofs/limits.h"
#include "proofs/scope.h"

namespace tokitai::proofs {

// What is known of the products a * by and b * by.
z3::expr in_order(const z3::expr& a, const z3::expr& b, const z3::expr& by, const z3::expr& a_by, const z3::expr& b_by);
// That it holds.
void products_in_order(Report& report);

// What lies as a matrix, at row * cols + column: no two have one place, and all lie in rows * cols.
void matrix_places(const std::string& what, Report& report);

// A factor as it is packed: `lines` of the output by the contracted index, or the rows and columns that it is stored
// in. Groups that are padded to slots have up to 512 times as many elements (product_space.cpp).
struct Sizes {
  Sizes(Scope& s, const std::string& which)
      : lines(s.any<i64>("lines" + which, 1, kMostExtent + 1)), inner(s.any<i64>("inner" + which, 1, kMostExtent + 1)) {
    s.assume(*lines * *inner <= s.number(512 * kMostStored));
  }
  Symbol<i64> lines, inner;
};
// What is known of the product of a size that is rounded up and another one.
inline z3::expr rounded(const Symbol<i64>& up, const Symbol<i64>& size, int by, const Symbol<i64>& other) {
  return in_order(*up, *size + by, *other, *up * *other, *size * *other + by * *other);
}

}  // namespace tokitai::proofs

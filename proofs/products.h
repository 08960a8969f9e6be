// Products of two sizes. Solvers do not like them: here they are numbers of their own, of which nothing is known but
// their order, which is proved once.
#pragma once
#include <string>

#include "proofs/scope.h"

namespace tokitai::proofs {

// What is known of the products a * by and b * by.
z3::expr in_order(const z3::expr& a, const z3::expr& b, const z3::expr& by, const z3::expr& a_by, const z3::expr& b_by);
// That it holds.
void products_in_order(Report& report);

// What lies as a matrix, at row * cols + column: no two have one place, and all lie in rows * cols.
void matrix_places(const std::string& what, Report& report);

}  // namespace tokitai::proofs

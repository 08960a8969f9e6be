#include "proofs/products.h"

#include "proofs/limits.h"

namespace tokitai::proofs {

z3::expr in_order(const z3::expr& a, const z3::expr& b, const z3::expr& by, const z3::expr& a_by,
                  const z3::expr& b_by) {
  return z3::implies(a < b, a_by + by <= b_by) && z3::implies(b < a, b_by + by <= a_by) &&
         z3::implies(a == b, a_by == b_by);
}

void products_in_order(Report& report) {
  Scope s(report);
  const z3::expr a = *s.any<i64>("a", 0, kMostElements), more = *s.any<i64>("more", 0, kMostElements);
  const z3::expr by = *s.any<i64>("by", 1, kMostElements), b = a + 1 + more;
  s.claim("products by one number keep the order of what is multiplied", a * by + by <= b * by);
}

void matrix_places(const std::string& what, Report& report) {
  Scope s(report);
  const Symbol<i64> cols = s.any<i64>("cols", 1, kMostElements), rows = s.any<i64>("rows", 1, kMostElements);
  const Symbol<i64> row = s.any<i64>("row", 0, kMostElements), row2 = s.any<i64>("row'", 0, kMostElements);
  const Symbol<i64> c = s.any<i64>("column", 0, kMostElements), d = s.any<i64>("column'", 0, kMostElements);
  const Symbol<i64> u = s.any<i64>("row * cols", 0, kMostElements), v = s.any<i64>("row' * cols", 0, kMostElements);
  const Symbol<i64> all = s.any<i64>("rows * cols", 0, kMostElements);
  s.assume(*c < *cols && *d < *cols && *row < *rows && in_order(*row, *row2, *cols, *u, *v) &&
           in_order(*row, *rows, *cols, *u, *all));
  s.claim("no two " + what + " have one place", z3::implies(*u + *c == *v + *d, *row == *row2 && *c == *d));
  s.claim(what + " lie in their region", *u + *c < *all);
}

}  // namespace tokitai::proofs

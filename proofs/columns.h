// What is claimed about the rows of the row pattern and about its column sums: which team works on a row, which chain
// of a column sum it belongs to, and where partial results lie. `Index` is ColumnIndex, the device's functions.
#pragma once
#include "machines/device/place_row.h"
#include "proofs/limits.h"
#include "proofs/scope.h"
#include "proofs/subject.h"

namespace tokitai::proofs {

struct ColumnIndex {
  static auto first_row(auto... a) { return device::first_row_of(a...); }
  static auto chain_begin(auto... a) { return device::chain_begin(a...); }
  static auto chain_end(auto... a) { return device::chain_end(a...); }
  static auto partial(auto... a) { return device::partial_begin(a...); }
  static auto sum(auto... a) { return device::sum_of(a...); }
  static auto summed_column(auto... a) { return device::summed_column(a...); }
};

template <class Index> struct ColumnClaims {
  const RowSubject& subject;
  Report& report;
  const device::RowPlan& p = subject.plan;

  // Rows of a launch of any number of workers: a team's next row lies workers * teams further on. The product of turns
  // and workers is a number of its own here, of which nothing is known but what products_in_order proves.
  void rows() const {
    if (p.column_sums) return;
    Scope s(report);
    const Symbol<i64> workers = s.any<i64>("workers", 1, kMostBlocks);
    const Symbol<i64> worker = s.any<i64>("worker", 0, kMostBlocks), other = s.any<i64>("worker'", 0, kMostBlocks);
    const Symbol<int> team = s.any<int>("team", 0, p.teams), team2 = s.any<int>("team'", 0, p.teams);
    const Symbol<i64> turn = s.any<i64>("turn", 0, kMostElements), turn2 = s.any<i64>("turn'", 0, kMostElements);
    const Symbol<i64> before = s.any<i64>("turn * workers", 0, kMostElements);
    const Symbol<i64> before2 = s.any<i64>("turn' * workers", 0, kMostElements);
    s.assume(*worker < *workers && *other < *workers);
    s.assume(in_order(*turn, *turn2, *workers, *before, *before2));
    const z3::expr a = *Index::first_row(worker, team, p.teams) + *before * p.teams;
    const z3::expr b = *Index::first_row(other, team2, p.teams) + *before2 * p.teams;
    s.claim("no row is worked on twice", z3::implies(a == b, *worker == *other && *team == *team2 && *turn == *turn2));
    s.claim_arithmetic("no first row leaves its type");
    const Symbol<i64> row = s.any<i64>("row", 0, kMostElements);
    s.assume(*before + *worker == *row / p.teams);  // the quotient and the remainder by the workers
    const Symbol<int> its = s.symbol<int>(z3::mod(*row, p.teams));
    s.claim("every row is worked on", *Index::first_row(worker, its, p.teams) + *before * p.teams == *row);
  }
  // The canonical order (patterns/reduction.h): chains of 32 consecutive rows.
  void chains() const {
    Scope s(report);
    const Symbol<i64> rows = s.any<i64>("rows", 1, kMostElements), row = s.any<i64>("row", 0, kMostElements);
    const Symbol<i64> chain = s.any<i64>("chain", 0, kMostElements);
    s.assume(*row < *rows && *chain < *device::pieces_of(rows, kChain));
    const z3::expr begin = *Index::chain_begin(chain), end = *Index::chain_end(chain, rows);
    s.claim("a row belongs to the chain of its 32 rows and to no other",
            (begin <= *row && *row < end) == (*chain == *row / kChain));
    s.claim("a chain has 1 to 32 rows, all of them there", begin < end && end - begin <= kChain && end <= *rows);
    s.claim_arithmetic("no index of a chain leaves its type");
  }
  // Partial rows of both sums: (sum * chains + chain) * cols.
  void partials() const {
    Scope s(report);
    const Symbol<i64> cols = s.any<i64>("cols", 1, kMostCols), chains = s.any<i64>("chains", 1, kMostElements);
    const Symbol<int> sum = s.any<int>("sum", 0, 2), sum2 = s.any<int>("sum'", 0, 2);
    const Symbol<i64> a = s.any<i64>("chain", 0, kMostElements), b = s.any<i64>("chain'", 0, kMostElements);
    const Symbol<i64> x = s.any<i64>("column", 0, kMostCols), y = s.any<i64>("column'", 0, kMostCols);
    s.assume(*a < *chains && *b < *chains && *x < *cols && *y < *cols);
    // Which of all partial rows, and where it begins.
    const auto row = [&](const Symbol<int>& which, const Symbol<i64>& chain) {
      return *chain + z3::ite(*which == 1, *chains, s.number(0));
    };
    const z3::expr r = row(sum, a), q = row(sum2, b), end = 2 * *chains;
    s.claim("partial rows have numbers of their own",
            r >= 0 && r < end && z3::implies(r == q, *sum == *sum2 && *a == *b));
    s.claim("a partial row begins at its number of rows", *Index::partial(sum, a, chains, cols) == r * *cols);
    Scope t(report);
    const Symbol<i64> width = t.any<i64>("cols", 1, kMostCols);
    const Symbol<i64> i = t.any<i64>("row", 0, kMostElements), k = t.any<i64>("row'", 0, kMostElements);
    const Symbol<i64> rows = t.any<i64>("rows", 1, kMostElements);
    const Symbol<i64> c = t.any<i64>("column", 0, kMostCols), d = t.any<i64>("column'", 0, kMostCols);
    const Symbol<i64> u = t.any<i64>("row * cols", 0, kMostElements), v = t.any<i64>("row' * cols", 0, kMostElements);
    const Symbol<i64> all = t.any<i64>("rows * cols", 0, kMostElements);
    t.assume(*c < *width && *d < *width && *i < *rows && in_order(*i, *k, *width, *u, *v) &&
             in_order(*i, *rows, *width, *u, *all));
    t.claim("no two partial results have one place", z3::implies(*u + *c == *v + *d, *i == *k && *c == *d));
    t.claim("partial results lie in the workspace", *u + *c < *all);
  }
  // What is known of the products a * by and b * by.
  static z3::expr in_order(const z3::expr& a, const z3::expr& b, const z3::expr& by, const z3::expr& a_by,
                           const z3::expr& b_by) {
    return z3::implies(a < b, a_by + by <= b_by) && z3::implies(b < a, b_by + by <= a_by) &&
           z3::implies(a == b, a_by == b_by);
  }
  void products_in_order() const {
    Scope s(report);
    const z3::expr a = *s.any<i64>("a", 0, kMostElements), b = *s.any<i64>("b", 0, kMostElements);
    const z3::expr by = *s.any<i64>("by", 1, kMostElements);
    s.claim("products by one number keep the order of what is multiplied",
            z3::implies(a < b, a * by + by <= b * by) && z3::implies(a == b, a * by == b * by));
  }
  // The second kernel: 32 columns of one sum per block.
  void columns() const {
    Scope s(report);
    const Symbol<i64> cols = s.any<i64>("cols", 1, kMostCols), per_sum = device::pieces_of(cols, 32);
    const Symbol<int> block = s.any<int>("block", 0, kMostBlocks), other = s.any<int>("block'", 0, kMostBlocks);
    const Symbol<int> thread = s.any<int>("thread", 0, 32), thread2 = s.any<int>("thread'", 0, 32);
    s.assume(*block < 2 * *per_sum && *other < 2 * *per_sum);
    const z3::expr sum = *Index::sum(block, per_sum), sum2 = *Index::sum(other, per_sum);
    const z3::expr column = *Index::summed_column(block, thread, per_sum);
    const z3::expr column2 = *Index::summed_column(other, thread2, per_sum);
    s.claim("a block works on one of two sums", sum >= 0 && sum <= 1 && column >= 0);
    s.claim("no column of a sum is written twice",
            z3::implies(sum == sum2 && column == column2, *block == *other && *thread == *thread2));
    s.claim_arithmetic("no index of a column of a sum leaves its type");
  }
  void columns_every() const {
    Scope s(report);
    const Symbol<i64> cols = s.any<i64>("cols", 1, kMostCols), per_sum = device::pieces_of(cols, 32);
    const Symbol<i64> sum = s.any<i64>("sum", 0, 2), column = s.any<i64>("column", 0, kMostCols);
    s.assume(*column < *cols);
    const Symbol<int> block = s.symbol<int>(z3::ite(*sum == 1, *per_sum, s.number(0)) + *column / 32);
    const Symbol<int> thread = s.symbol<int>(z3::mod(*column, 32));
    s.claim("every column of both sums is written", *block < 2 * *per_sum && *Index::sum(block, per_sum) == *sum &&
                                                        *Index::summed_column(block, thread, per_sum) == *column);
  }
  void all() const {
    products_in_order();
    rows();
    if (!p.column_sums) return;
    chains();
    partials();
    columns();
    columns_every();
  }
};

}  // namespace tokitai::proofs

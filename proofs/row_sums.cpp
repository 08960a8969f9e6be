// The rows of the row pattern: which team works on one, which chain of a sum over columns it belongs to, and where the
// partial results of every level lie.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

// Chains of one level: of `count` rows, or of partial results of the level below.
void chains(const Functions& f, Report& report) {
  Scope s(report);
  const Long rows = s.any<i64>("rows", 1, kMostElements), row = s.any<i64>("row", 0, kMostElements);
  const Long chain = s.any<i64>("chain", 0, kMostElements), all = device::pieces_of(rows, kChain);
  s.assume(*row < *rows && *chain < *all);
  const Long first = f.chain_begin(chain);
  const z3::expr begin = *first, end = *f.chain_end(first, rows);
  s.claim("a row belongs to the chain of its 32 rows and to no other",
          (begin <= *row && *row < end) == (*chain == *row / kChain));
  s.claim("a chain has 1 to 32 rows, all of them there", begin < end && end - begin <= kChain && end <= *rows);
  s.claim("every row has a chain", *f.chain_of(row) == *row / kChain && *row / kChain < *all);
  const Int r = s.any<int>("r", 0, kChain);
  s.claim("a chain's rows follow each other", *f.chained_row(chain, r) == begin + *r);
  const Int thread = s.any<int>("thread", 0, 1024);
  s.claim("threads take rows from their own number on", *f.row_of_thread(thread) == *thread);
  s.claim_arithmetic("no index of a chain leaves its type");
}

// `sum` of something, where there are `sums` of them: one of so many multiples, so that no two numbers are multiplied.
z3::expr multiple(Scope& s, const z3::expr& sum, int sums, const z3::expr& of) {
  z3::expr product = s.number(0);
  for (int k = 1; k < sums; ++k) product = z3::ite(sum == k, k * of, product);
  return product;
}

// Partial rows of all sums: (sum * chains + chain) * cols.
void partial_rows(const Functions& f, int sums, Report& report) {
  Scope s(report);
  const Long cols = s.any<i64>("cols", 1, kMostCols), chains = s.any<i64>("chains", 1, kMostElements);
  const Int sum = s.any<int>("sum", 0, sums), sum2 = s.any<int>("sum'", 0, sums);
  const Long a = s.any<i64>("chain", 0, kMostElements), b = s.any<i64>("chain'", 0, kMostElements);
  s.assume(*a < *chains && *b < *chains);
  // Which of all partial rows, and where it begins.
  const auto row = [&](const Int& which, const Long& chain) { return *chain + multiple(s, *which, sums, *chains); };
  const z3::expr r = row(sum, a), q = row(sum2, b);
  s.claim("partial rows have numbers of their own",
          r >= 0 && r < sums * *chains && z3::implies(r == q, *sum == *sum2 && *a == *b));
  s.claim("a partial row begins at its number of rows", *f.partial_begin(sum, a, chains, cols) == r * *cols);
  matrix_places("partial results", report);
}
void regions(const Functions& f, int sums, Report& report) {
  Scope t(report);
  const Long behind = t.any<i64>("behind", 0, kMostCols), n = t.any<i64>("cols", 1, kMostCols);
  const Long all = t.any<i64>("chains", 1, kMostCols), second = t.any<i64>("second", 1, kMostCols);
  const Long chain = t.any<i64>("chain", 0, kMostCols);
  for (int which = 0; which < sums; ++which) {
    const Int of = t.symbol<int>(t.number(which));
    t.claim("partial rows lie behind what blocks have in front of them",
            *f.partial_begin_behind(behind, of, chain, all, n) == *behind + (which * *all + *chain) * *n);
    t.claim("the second kernel finds the first one's sums", *f.sum_begin(of, all, n) == which * *all * *n);
    t.claim("the second region lies behind all sums of the first",
            *f.second_sum_begin(of, sums, all, second, n) == sums * *all * *n + which * *second * *n);
  }
  t.claim("values lie behind what blocks have in front of them", *f.values_begin(behind) == *behind);
  t.claim("the planner's offset is taken as it is", *f.told_begin(behind) == *behind);
}

// The second kernel: 32 columns of one sum per block, levels back and forth between two regions.
void columns(const Functions& f, int sums, Report& report) {
  Scope s(report);
  const Long cols = s.any<i64>("cols", 1, kMostCols), per_sum = device::pieces_of(cols, 32);
  const Int block = s.any<int>("block", 0, kMostBlocks), thread = s.any<int>("thread", 0, 512);
  s.assume(*block < sums * *per_sum);
  const z3::expr sum = *f.sum_of(block, per_sum), column = *f.summed_column(block, thread, per_sum);
  s.claim("a block works on one of the sums",
          sum >= 0 && sum < sums && column >= 0 && *f.sum_number(block, per_sum) == sum);
  // Groups of 32 threads share the columns and take the chains in turn.
  s.claim("no column of a sum is written twice: its block and lane follow from it",
          z3::mod(column, 32) == z3::mod(*thread, 32) && multiple(s, sum, sums, *per_sum) + column / 32 == *block);
  s.claim_arithmetic("no index of a column of a sum leaves its type");

  Scope t(report);
  const Long n = t.any<i64>("cols", 1, kMostCols), per = device::pieces_of(n, 32);
  const Long which = t.any<i64>("sum", 0, sums), x = t.any<i64>("column", 0, kMostCols);
  t.assume(*x < *n);
  const Int owner = t.symbol<int>(multiple(t, *which, sums, *per) + *x / 32);
  const Int lane = t.symbol<int>(z3::mod(*x, 32));
  t.claim("every column of every sum is written",
          *owner < sums * *per && *f.sum_of(owner, per) == *which && *f.summed_column(owner, lane, per) == *x);
}
void levels(const Functions& f, Report& report) {
  Scope s(report);
  const Long partials = s.any<i64>("chains", 1, kMostElements), second = device::pieces_of(partials, kChain);
  const Long count = s.any<i64>("results", 2, kMostElements), next = device::pieces_of(count, kChain);
  const Long chain = s.any<i64>("chain", 0, kMostElements), step = s.any<i64>("step", 0, kChain);
  s.assume(*count <= *partials && *chain < *next);
  s.claim("the results of a level fit the region they go to", *next <= *second && *second <= *partials);
  s.claim("and there are fewer of them", *next < *count);
  s.claim("the next level begins behind them", *f.level_begin(next) == *next);
  s.claim("a level reads results of the level below only",
          z3::implies(*chain * kChain + *step < *count, *chain * kChain + *step < *partials));
  // Sums of one value per row keep their levels one behind the other: none needs more than the rest of the room.
  s.claim("levels one behind the other take at most the number of their values",
          *next >= 1 && z3::implies(*next > 1, 2 * *next <= *count));
}

}  // namespace

void claim(const RowTeams& part, const Functions& f, Report& report) {
  products_in_order(report);
  // A team's next row lies workers * teams further on. The product of turns and workers is a number of its own here, of
  // which nothing is known but what products_in_order proves.
  Scope s(report);
  const Long workers = s.any<i64>("workers", 1, kMostBlocks);
  const Long worker = s.any<i64>("worker", 0, kMostBlocks), other = s.any<i64>("worker'", 0, kMostBlocks);
  const Int team = s.any<int>("team", 0, part.teams), team2 = s.any<int>("team'", 0, part.teams);
  const Long turn = s.any<i64>("turn", 0, kMostElements), turn2 = s.any<i64>("turn'", 0, kMostElements);
  const Long before = s.any<i64>("turn * workers", 0, kMostElements);
  const Long before2 = s.any<i64>("turn' * workers", 0, kMostElements);
  s.assume(*worker < *workers && *other < *workers);
  s.assume(in_order(*turn, *turn2, *workers, *before, *before2));
  const z3::expr a = *f.first_row_of(worker, team, part.teams) + *before * part.teams;
  const z3::expr b = *f.first_row_of(other, team2, part.teams) + *before2 * part.teams;
  s.claim("no row is worked on twice", z3::implies(a == b, *worker == *other && *team == *team2 && *turn == *turn2));
  s.claim("a team's next row lies behind those of all teams",
          *f.row_step(workers, part.teams) == *workers * part.teams);
  s.claim_arithmetic("no first row leaves its type");
  const Long row = s.any<i64>("row", 0, kMostElements);
  s.assume(*before + *worker == *row / part.teams);  // the quotient and the remainder by the workers
  const Int its = s.symbol<int>(z3::mod(*row, part.teams));
  s.claim("every row is worked on", *f.first_row_of(worker, its, part.teams) + *before * part.teams == *row);
}

void claim(const RowSums& part, const Functions& f, Report& report) {
  products_in_order(report);
  chains(f, report);
  regions(f, part.sums, report);
  if (part.sums > 0) {
    partial_rows(f, part.sums, report);
    columns(f, part.sums, report);
  }
  levels(f, report);
  claim_places(f, report);
}

}  // namespace tokitai::proofs

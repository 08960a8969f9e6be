// The sums of the segment pattern: which sorted positions make a chain, which chains a level joins, where partial
// results lie, and who writes an index's row. The positions of one index are a run: from `first` to before `stop`.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

struct Run {
  Run(Scope& s, const std::string& which)
      : first(s.any<i64>("first" + which, 0, kMostSorted)), stop(s.any<i64>("stop" + which, 0, kMostSorted)) {
    s.assume(*first < *stop);
  }
  Long first, stop;
  z3::expr length() const { return *stop - *first; }
  z3::expr has(const z3::expr& p) const { return *first <= p && p < *stop; }
};

// The sorted keys, of which it is known that they ascend.
void runs(Report& report) {
  Scope s(report);
  z3::context& c = report.context();
  const z3::func_decl key = c.function("key", c.int_sort(), c.int_sort());
  const z3::expr n = *s.any<i64>("queries", 1, kMostSorted);
  const z3::expr p = *s.any<i64>("position", 0, kMostSorted), q = *s.any<i64>("position'", 0, kMostSorted);
  s.assume(p < q && q < n && key(p) <= key(p + 1) && key(p + 1) <= key(q - 1) && key(q - 1) <= key(q));
  s.claim("one thread writes where a run begins, and one where it ends",
          z3::implies(key(p) == key(q), !(q == 0 || key(q - 1) != key(q)) && !(p + 1 == n || key(p + 1) != key(p))));
}

void chains(const Functions& f, Report& report) {
  Scope s(report);
  const Run run(s, "");
  const Long p = s.any<i64>("position", 0, kMostSorted), start = s.any<i64>("start", 0, kMostSorted);
  const Long span = s.symbol<i64>(s.number(kChain));
  s.assume(run.has(*p) && run.has(*start));
  const z3::expr its = *p - z3::mod(*p - *run.first, kChain), end = *f.chain_stop(start, run.stop);
  const z3::expr begins = f.starts_chain(start, run.first, span).value;
  s.claim("a position belongs to one chain, the canonical one, at its canonical place",
          z3::implies(begins, (*start <= *p && *p < end) == (*start == its)));
  s.claim("a chain has 1 to 32 positions of its run",
          z3::implies(begins, *start < end && end <= *run.stop && end - *start <= kChain));
  s.claim("where a chain ends the run does, or the next chain begins",
          z3::implies(begins, end == *run.stop || f.starts_chain(s.symbol<i64>(end), run.first, span).value));
  s.assume(*start == its);
  s.claim("every position has a chain", f.starts_chain(start, run.first, span).value && *start >= *run.first);
  s.claim_arithmetic("no position of a chain leaves its type");
}

// Partial results of two chains, of one run or of two.
void partials(const Functions& f, Report& report) {
  Scope s(report);
  const Run run(s, ""), next(s, "'");
  const Long n = s.any<i64>("queries", 1, kMostSorted);
  const Long p = s.any<i64>("start", 0, kMostSorted), q = s.any<i64>("start'", 0, kMostSorted);
  s.assume(*run.stop <= *n && *next.stop <= *n && run.length() > kChain && next.length() > kChain);
  s.assume(run.has(*p) && z3::mod(*p - *run.first, kChain) == 0);
  s.assume(next.has(*q) && z3::mod(*q - *next.first, kChain) == 0);
  s.assume((*run.first == *next.first && *run.stop == *next.stop) || *run.stop <= *next.first);
  const z3::expr a = *f.partial_row_of(p, run.first), b = *f.partial_row_of(q, next.first);
  s.claim("no two chains of long runs keep their results in one row", z3::implies(a == b, *p == *q));
  s.claim("partial results lie in the rows that are asked for", a >= 0 && a < *device::partial_rows(n));
  s.claim_arithmetic("no row of partial results leaves its type");
}

// One level: partial results `span` positions apart, 32 of them at a time.
void join(const Functions& f, Report& report, i64 span) {
  const auto named = [&](const std::string& what) { return what + ", " + std::to_string(span) + " apart"; };
  Scope s(report);
  const Run run(s, "");
  const Long reach = s.symbol<i64>(s.number(span * kChain)), apart = s.symbol<i64>(s.number(span));
  const z3::expr m = *s.any<i64>("result", 0, kMostSorted), q = *run.first + m * s.number(span);
  const Long p = s.any<i64>("start", 0, kMostSorted);
  s.assume(run.has(q) && run.has(*p));
  const z3::expr end = *f.joined_stop(p, run.stop, apart);
  const z3::expr begins = f.starts_chain(p, run.first, reach).value;
  // The m-th result of the level below is the (m % 32)-th of chain m / 32.
  const z3::expr its = *run.first + m / kChain * s.number(span * kChain);
  s.claim(named("a partial result is joined once, in its canonical place"),
          z3::implies(begins, (*p <= q && q < end) == (*p == its)) && q - its == z3::mod(m, kChain) * s.number(span));
  s.claim(named("what is joined lies in the run"), z3::implies(begins, *p < end && end <= *run.stop));
  const Int r = s.any<int>("r", 0, 4);
  s.claim(named("results that are read at once follow each other"),
          *f.joined_position(p, r, apart) == *p + *r * s.number(span) &&
              *f.joined_step(4, apart) == 4 * s.number(span) && *f.next_span(apart) == s.number(span * kChain));
  s.assume(*p == its);
  s.claim(named("every partial result is joined"), f.starts_chain(p, run.first, reach).value && q < end);
  s.claim_arithmetic(named("no position of a partial result leaves its type"));
}

// A row is written by whoever clears it, by its only chain, or by the last level that joins its results.
void written_once(const Functions& f, Report& report) {
  Scope s(report);
  const z3::expr length = *s.any<i64>("occurrences", 0, kMostSorted);
  z3::expr writers = z3::ite(length == 0, s.number(1), s.number(0)) +
                     z3::ite(length >= 1 && length <= kChain, s.number(1), s.number(0));
  i64 span = kChain;
  for (int level = 0; level < device::kSortLevels; ++level, span *= kChain)
    writers = writers + z3::ite(length > s.number(span) && length <= s.number(span * kChain), s.number(1), s.number(0));
  s.claim("a row is written once, whatever the number of its occurrences", writers == 1);
  // As the kernel counts runs for a level: at the run's last position, `span` positions back, lies the same key.
  const Run run(s, "");
  const z3::expr last = *run.stop - 1, back = *s.any<i64>("span", kChain, kMostElements);
  s.claim(
      "a run is counted for a level where it is longer than the level's span",
      (last >= back && run.has(*f.position_before(s.symbol<i64>(last), s.symbol<i64>(back)))) == (run.length() > back));
  s.claim("no run ends at 0, which marks a row that nobody asked for", *run.stop > 0);
}

}  // namespace

void claim(const SegmentSums&, const Functions& f, Report& report) {
  products_in_order(report);
  runs(report);
  chains(f, report);
  partials(f, report);
  i64 span = kChain;
  for (int level = 0; level < device::kSortLevels; ++level, span *= kChain) join(f, report, span);
  written_once(f, report);
  claim_places(f, report);
}

}  // namespace tokitai::proofs

// The elements of the each pattern: which of them a thread owns, in which piece of which tensor.
#include "proofs/claims.h"
#include "proofs/limits.h"

namespace tokitai::proofs {
namespace {

// A thread's element: of a piece of a tensor, in a turn.
struct EachOwner {
  Long piece;
  Int turn, thread, element;
  z3::expr is(const EachOwner& o) const {
    return *piece == *o.piece && *turn == *o.turn && *thread == *o.thread && *element == *o.element;
  }
};

// A tensor of `length` elements whose pieces begin at `first`, as plan_each.cpp counts them.
struct EachTensor {
  EachTensor(Scope& s, const device::EachPlan& p)
      : size(p.threads * p.wide * p.turns),
        length(s.any<i64>("length", 1, kMostElements)),
        first(s.any<i64>("first_piece", 0, kMostElements)),
        pieces(device::pieces_of(length, size)) {}
  int size;  // elements of a piece
  Long length, first, pieces;
};

class Elements {
 public:
  Elements(const EachElements& part, const Functions& functions, Report& to) : p(part.plan), f(functions), report(to) {}

  EachOwner owner(Scope& s, const EachTensor& t) const {
    const EachOwner o{s.any<i64>("piece", 0, std::numeric_limits<i64>::max()), s.any<int>("turn", 0, p.turns),
                      s.any<int>("thread", 0, p.threads), s.any<int>("element", 0, p.wide)};
    s.assume(*o.piece >= *t.first && *o.piece < *t.first + *t.pieces);
    return o;
  }
  // Who should own an element, made of the plan's constants alone.
  EachOwner owner_of(Scope& s, const EachTensor& t, const z3::expr& x) const {
    const int turn = p.threads * p.wide;
    return {s.symbol<i64>(*t.first + x / t.size), s.symbol<int>(z3::mod(x, t.size) / turn),
            s.symbol<int>(z3::mod(x, turn) / p.wide), s.symbol<int>(z3::mod(x, p.wide))};
  }
  Long begin(const EachTensor& t, const EachOwner& o) const {
    return f.vector_begin(f.piece_begin(o.piece, t.first, p.turns, p.threads, p.wide), o.turn, o.thread, p.threads,
                          p.wide);
  }
  // Whether the kernel works on the owner's element: the loop goes on while anything is left, then counts.
  z3::expr works(const EachTensor& t, const EachOwner& o, const Long& begin) const {
    const Long left = t.length - begin;
    return *left > 0 && *o.element < *f.at_most(left, p.wide);
  }

  void once() const {
    Scope s(report);
    const EachTensor t(s, p);
    const EachOwner o = owner(s, t);
    const Long at = begin(t, o);
    const EachOwner who = owner_of(s, t, *at + *o.element);
    s.claim("no element is written twice: its owner follows from it", who.is(o));
  }
  void every() const {
    Scope s(report);
    const EachTensor t(s, p);
    const Long x = s.any<i64>("position", 0, kMostElements);
    s.assume(*x < *t.length);
    const EachOwner o = owner_of(s, t, *x);
    const Long at = begin(t, o);
    s.claim("every element is written", *o.piece < *t.first + *t.pieces && *o.turn < p.turns && *o.thread < p.threads &&
                                            works(t, o, at) && *at + *o.element == *x);
  }
  void bounds() const {
    Scope s(report);
    const EachTensor t(s, p);
    const EachOwner o = owner(s, t);
    const Long at = begin(t, o);
    const Long left = t.length - at;
    const z3::expr worked = works(t, o, at);
    s.claim("guarded accesses lie in the tensor", z3::implies(worked, *at >= 0 && *at + *o.element < *t.length) &&
                                                      z3::implies(*left >= p.wide, *at + p.wide <= *t.length));
    s.claim("accesses of a whole vector are multiples of it", z3::mod(*at, p.wide) == 0);
    s.claim_arithmetic("no index leaves its type");
  }
  // The search for a piece's tensor, a step of it: `first` is ascending, so the tensors that remain hold the answer.
  void search() const {
    Scope s(report);
    const Int low = s.any<int>("low", 0, kMostTensors), high = s.any<int>("high", 0, kMostTensors);
    const Long piece = s.any<i64>("piece", 0, kMostElements);
    const Int answer = s.any<int>("tensor", 0, kMostTensors);
    s.assume(*low < *high && *low <= *answer && *answer <= *high);
    const Int middle = f.middle_of(low, high);
    // Of the tensors that begin at or before the piece the answer is the last.
    const Long begins = s.any<i64>("first_piece", 0, kMostElements);
    s.assume((*middle <= *answer) == (*begins <= *piece));
    const z3::expr goes_up = *begins <= *piece;
    const z3::expr low2 = z3::ite(goes_up, *middle, *low);
    const z3::expr high2 = z3::ite(goes_up, *high, *f.before_middle(middle));
    s.claim("the search keeps the piece's tensor and comes to an end",
            *middle > *low && *middle <= *high && low2 <= *answer && *answer <= high2 && high2 - low2 < *high - *low);
    s.claim("the search begins with every tensor", *f.last_of_list(high) + 1 == *high);
    s.claim_arithmetic("the search leaves no type");
  }
  // A row that `lanes` threads share, `turns` vectors each at once.
  void columns() const {
    const int round = p.turns * p.lanes * p.wide;
    Scope s(report);
    const Long cols = s.any<i64>("columns", 1, kMostElements), rounds = s.any<i64>("round", 0, kMostElements);
    const Int turn = s.any<int>("turn", 0, p.turns), thread = s.any<int>("thread", 0, p.lanes);
    const Int e = s.any<int>("element", 0, p.wide);
    s.assume(*rounds * round < *cols);
    const Long at = f.lane_column(s.symbol<i64>(*rounds * round), turn, thread, p.lanes, p.wide);
    const z3::expr column = *at + *e;
    s.claim("no column is written twice: its owner follows from it",
            column / round == *rounds && z3::mod(column, round) / (p.lanes * p.wide) == *turn &&
                z3::mod(column, p.lanes * p.wide) / p.wide == *thread && z3::mod(column, p.wide) == *e);
    const Long left = cols - at;
    s.claim("guarded accesses lie in the row",
            z3::implies(*left > 0 && *e < *f.at_most(left, p.wide), *at >= 0 && column < *cols) &&
                z3::implies(*left >= p.wide, *at + p.wide <= *cols));
    s.claim("accesses of a whole vector of a row are multiples of it", z3::mod(*at, p.wide) == 0);
    s.claim_arithmetic("no column leaves its type");
    Scope t(report);
    const Long n = t.any<i64>("columns", 1, kMostElements), x = t.any<i64>("column", 0, kMostElements);
    t.assume(*x < *n);
    const Long begin = t.symbol<i64>(*x / round * round);
    const Int its = t.symbol<int>(z3::mod(*x, round) / (p.lanes * p.wide));
    const Int owner = t.symbol<int>(z3::mod(*x, p.lanes * p.wide) / p.wide);
    t.claim("every column is written",
            *begin < *n && *its < p.turns && *owner < p.lanes &&
                *f.lane_column(begin, its, owner, p.lanes, p.wide) + z3::mod(*x, p.wide) == *x);
  }
  // Pairs of a row of `periods` periods: every column is in one of them, at its place in the table.
  void pairs() const {
    Scope s(report);
    const Long periods = s.any<i64>("periods", 1, kMostItems / (2 * p.period));
    const Long pair = s.any<i64>("pair", 0, kMostItems);
    s.assume(*pair < *periods * p.period);
    const z3::expr first = *f.first_of_pair(pair, p.period), second = *f.second_of_pair(pair, p.period);
    const z3::expr whole = *periods * (2 * p.period);
    s.claim("a pair's elements lie in the row", first >= 0 && first < second && second < whole);
    s.claim("a pair follows from its elements, and no two share one",
            first / (2 * p.period) * p.period + z3::mod(first, 2 * p.period) == *pair &&
                z3::mod(first, 2 * p.period) < p.period && second == first + p.period);
    s.claim("a pair's elements side by side lie in the row, and no two share one",
            *f.side_by_side(pair) == *pair + *pair && *f.side_by_side(pair) + 1 < whole);
    const z3::expr column = *f.table_column(pair, p.period);
    s.claim("a pair has its column of the table",
            column >= 0 && column < p.period && z3::mod(first, 2 * p.period) == column);
    // A vector of pairs begins at a multiple of itself.
    s.assume(z3::mod(*pair, p.wide) == 0);
    s.claim("a vector of pairs stays in its period", column + p.wide <= p.period && z3::mod(column, p.wide) == 0 &&
                                                         z3::mod(first, p.wide) == 0 && z3::mod(second, p.wide) == 0);
    s.claim_arithmetic("no pair leaves its type");
  }
  void all() const {
    if (p.lanes != 0) {
      columns();
      if (p.period != 0) pairs();
      return;
    }
    once();
    every();
    bounds();
    search();
  }

 private:
  const device::EachPlan& p;
  const Functions& f;
  Report& report;
};

}  // namespace

void claim(const EachElements& part, const Functions& f, Report& report) {
  claim_places(f, report);
  Elements(part, f, report).all();
}

}  // namespace tokitai::proofs

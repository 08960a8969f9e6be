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
  void all() const {
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

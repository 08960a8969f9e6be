// What is claimed about the each pattern, over its own index functions. `Index` is EachIndex, the device's functions;
// the tests put broken ones in its place.
#pragma once
#include "machines/device/place_each.h"
#include "machines/device/plans.h"
#include "proofs/guards.h"
#include "proofs/limits.h"
#include "proofs/scope.h"

namespace tokitai::proofs {

struct EachIndex {
  static auto middle(auto... a) { return device::middle_of(a...); }
  static auto piece_begin(auto... a) { return device::piece_begin(a...); }
  static auto vector_begin(auto... a) { return device::vector_begin(a...); }
  static auto count(auto left, int wide) { return at_most(left, wide); }
};

// A thread's element: of a piece of a tensor, in a turn.
struct EachOwner {
  Symbol<i64> piece;
  Symbol<int> turn, thread, element;
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
  Symbol<i64> length, first, pieces;
};

template <class Index> struct EachClaims {
  const device::EachPlan& p;
  Report& report;

  EachOwner owner(Scope& s, const EachTensor& t, const std::string& which) const {
    const EachOwner o{s.any<i64>("piece" + which, 0, std::numeric_limits<i64>::max()),
                      s.any<int>("turn" + which, 0, p.turns), s.any<int>("thread" + which, 0, p.threads),
                      s.any<int>("element" + which, 0, p.wide)};
    s.assume(*o.piece >= *t.first && *o.piece < *t.first + *t.pieces);
    return o;
  }
  Symbol<i64> begin(const EachTensor& t, const EachOwner& o) const {
    return Index::vector_begin(Index::piece_begin(o.piece, t.first, p.turns, p.threads, p.wide), o.turn, o.thread,
                               p.threads, p.wide);
  }
  // Whether the kernel works on the owner's element: the loop goes on while anything is left, then counts.
  z3::expr works(const EachTensor& t, const EachOwner& o, const Symbol<i64>& begin) const {
    const Symbol<i64> left = t.length - begin;
    return *left > 0 && *o.element < *Index::count(left, p.wide);
  }

  void once() const {
    Scope s(report);
    const EachTensor t(s, p);
    const EachOwner a = owner(s, t, ""), b = owner(s, t, "'");
    const Symbol<i64> at = begin(t, a), other = begin(t, b);
    s.claim("no element is written twice",
            z3::implies(works(t, a, at) && works(t, b, other) && *at + *a.element == *other + *b.element, a.is(b)));
  }
  void every() const {
    Scope s(report);
    const EachTensor t(s, p);
    const Symbol<i64> x = s.any<i64>("position", 0, kMostElements);
    s.assume(*x < *t.length);
    // Who should own it, made of the plan's constants alone.
    const int turn = p.threads * p.wide;
    const EachOwner o{s.symbol<i64>(*t.first + *x / t.size), s.symbol<int>(z3::mod(*x, t.size) / turn),
                      s.symbol<int>(z3::mod(*x, turn) / p.wide), s.symbol<int>(z3::mod(*x, p.wide))};
    const Symbol<i64> at = begin(t, o);
    s.claim("every element is written", *o.piece < *t.first + *t.pieces && *o.turn < p.turns && *o.thread < p.threads &&
                                            works(t, o, at) && *at + *o.element == *x);
  }
  void bounds() const {
    Scope s(report);
    const EachTensor t(s, p);
    const EachOwner o = owner(s, t, "");
    const Symbol<i64> at = begin(t, o);
    const Symbol<i64> left = t.length - at;
    const z3::expr worked = works(t, o, at);
    s.claim("guarded accesses lie in the tensor", z3::implies(worked, *at >= 0 && *at + *o.element < *t.length) &&
                                                      z3::implies(*left >= p.wide, *at + p.wide <= *t.length));
    s.claim("accesses of a whole vector are multiples of it", z3::mod(*at, p.wide) == 0);
    s.claim_arithmetic("no index leaves its type");
  }
  // The search for a piece's tensor, a step of it: `first` is ascending, so the tensors that remain hold the answer.
  void search() const {
    Scope s(report);
    const Symbol<int> low = s.any<int>("low", 0, kMostTensors), high = s.any<int>("high", 0, kMostTensors);
    const Symbol<i64> piece = s.any<i64>("piece", 0, kMostElements);
    const Symbol<int> answer = s.any<int>("tensor", 0, kMostTensors);
    s.assume(*low < *high && *low <= *answer && *answer <= *high);
    const Symbol<int> middle = Index::middle(low, high);
    // Of the tensors that begin at or before the piece the answer is the last.
    const Symbol<i64> begins = s.any<i64>("first_piece", 0, kMostElements);
    s.assume((*middle <= *answer) == (*begins <= *piece));
    const z3::expr goes_up = *begins <= *piece;
    const z3::expr low2 = z3::ite(goes_up, *middle, *low), high2 = z3::ite(goes_up, *high, *middle - 1);
    s.claim("the search keeps the piece's tensor and comes to an end",
            *middle > *low && *middle <= *high && low2 <= *answer && *answer <= high2 && high2 - low2 < *high - *low);
    s.claim_arithmetic("the search leaves no type");
  }
  void all() const {
    once();
    every();
    bounds();
    search();
  }
};

}  // namespace tokitai::proofs

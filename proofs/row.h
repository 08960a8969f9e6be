// What is claimed about the row pattern, over its own index functions: who owns a column, in which canonical place, and
// which words of shared memory and workspace belong to whom. `Index` is RowIndex, the device's functions; the tests put
// broken ones in its place.
#pragma once
#include <array>

#include "machines/device/place_row.h"
#include "machines/device/row_shape.h"
#include "proofs/guards.h"
#include "proofs/limits.h"
#include "proofs/scope.h"
#include "proofs/subject.h"

namespace tokitai::proofs {

struct RowIndex {
  static auto held_block(auto... a) { return device::held_block(a...); }
  static auto first_lane(auto... a) { return device::first_lane(a...); }
  static auto column(auto... a) { return device::column_of(a...); }
  static auto first_block(auto... a) { return device::first_block_of(a...); }
  static auto existing(auto... a) { return proofs::existing(a...); }
  static auto whole_block(auto... a) { return device::whole_block(a...); }
  static auto place(auto column) { return device::place_of_column(column); }
  static auto owner(auto... a) { return device::owner_of_lane(a...); }
  static auto element(auto... a) { return device::element_of_lane(a...); }
  static auto cell(auto... a) { return device::staged_cell(a...); }
  static auto group(auto... a) { return device::group_in_row(a...); }
  static auto slot(auto... a) { return device::box_slot(a...); }
  static auto scratch(auto... a) { return device::scratch_size(a...); }
};

template <class Index> struct RowClaims {
  const RowSubject& subject;
  Report& report;
  const device::RowPlan& p = subject.plan;
  const device::RowNumbers shape = device::row_numbers(p);

  // Any number of columns that the plan is right for.
  Symbol<int> any_cols(Scope& s) const {
    const device::ColumnRange range = device::columns_for(p, static_cast<int>(kMostCols - 1));
    const Symbol<int> n = s.any<int>("cols", range.least, i64{range.most} + 1);
    s.assume(z3::mod(*n, range.multiple) == 0);
    return n;
  }
  // A thread's element of a row: in which block of the cluster, and, where the row does not stay on chip, in which of
  // the thread's turns.
  struct Owner {
    Symbol<int> rank, thread, turn, chunk, element;
    z3::expr is(const Owner& o) const {
      return *rank == *o.rank && *thread == *o.thread && *turn == *o.turn && *chunk == *o.chunk &&
             *element == *o.element;
    }
  };
  Owner any_owner(Scope& s, const std::string& which) const {
    const i64 turns = p.on_chip ? 1 : kMostCols / 2048 / shape.held + 2;
    return {s.any<int>("rank" + which, 0, p.cluster), s.any<int>("thread" + which, 0, shape.team),
            s.any<int>("turn" + which, 0, turns), s.any<int>("chunk" + which, 0, p.chunks),
            s.any<int>("element" + which, 0, p.wide)};
  }
  struct Place {
    Symbol<int> block, lane, column;  // the first lane and column of the owner's vector
    z3::expr reached;                 // the vector is worked on
    z3::expr worked;                  // and the element
  };
  // As RowMachine goes: for_blocks, for_chunks, inside.
  Place at(Scope& s, const Owner& o, const Symbol<int>& n) const {
    const Symbol<int> lane = Index::first_lane(o.thread, p.wide);
    const Symbol<int> first = Index::first_block(o.rank, o.thread, shape.held, p.wide);
    const Symbol<int> block = p.on_chip ? first : first + o.turn * shape.held;
    const z3::expr visited = p.on_chip ? s.yes() : *block < *device::column_blocks(n);
    z3::expr count = s.number(p.wide);
    const Symbol<int> column = Index::column(block, o.chunk, lane);
    if (p.guard != device::Guard::none) {
      count = *Index::existing(n - column, p.wide);
      if (!p.blind && p.chunks == kChunks) count = z3::ite(Index::whole_block(block, n).value, s.number(p.wide), count);
    }
    const z3::expr inside = p.guard == device::Guard::elements ? *o.element < count : s.yes();
    const z3::expr reached = visited && count > 0;
    return {block, lane, column, reached, reached && inside};
  }

  void once() const {
    Scope s(report);
    const Symbol<int> n = any_cols(s);
    const Owner a = any_owner(s, ""), b = any_owner(s, "'");
    const Place x = at(s, a, n), y = at(s, b, n);
    s.claim("no column is owned twice",
            z3::implies(x.worked && y.worked && *x.column + *a.element == *y.column + *b.element, a.is(b)));
  }
  void every() const {
    Scope s(report);
    const Symbol<int> n = any_cols(s), column = s.any<int>("column", 0, kMostCols);
    s.assume(*column < *n);
    const z3::expr block = *column / kBlock, lane = z3::mod(*column, kLanes), turn = block / shape.held;
    const Owner o{s.symbol<int>(p.on_chip ? turn : s.number(0)),
                  s.symbol<int>(z3::mod(block, shape.held) * shape.column_threads + lane / p.wide),
                  s.symbol<int>(p.on_chip ? s.number(0) : turn), s.symbol<int>(z3::mod(*column, kBlock) / kLanes),
                  s.symbol<int>(z3::mod(lane, p.wide))};
    const Place x = at(s, o, n);
    s.claim("every column is owned", *o.rank < p.cluster && *o.thread < shape.team && *o.chunk < p.chunks && x.worked &&
                                         *x.column + *o.element == *column);
  }
  // The canonical order (patterns/reduction.h) gives a column a block, a lane and a position in the lane's chain. A
  // plan that gives the same to its owner agrees with every other plan that does.
  void canonical() const {
    Scope s(report);
    const Symbol<int> n = any_cols(s);
    const Owner o = any_owner(s, "");
    const Place x = at(s, o, n);
    const z3::expr column = *x.column + *o.element, lane = *x.lane + *o.element;
    s.claim("a column is worked on in its canonical block, lane and position",
            z3::implies(x.worked, column / kBlock == *x.block && z3::mod(column, kLanes) == lane &&
                                      z3::mod(column, kBlock) / kLanes == *o.chunk));
    // A thread joins its elements, a group its 32 threads, the box its groups: neighbours first, level by level.
    const z3::expr group =
        *Index::group(x.block, o.thread, shape.groups, shape.column_threads) - *x.block * shape.groups;
    s.claim("lanes are joined in the order of the pair tree",
            group >= 0 && group < shape.groups && lane == (group * 32 + z3::mod(*o.thread, 32)) * p.wide + *o.element &&
                kLanes == shape.groups * 32 * p.wide);
    s.claim("guarded accesses lie in the row", z3::implies(x.worked, column >= 0 && column < *n));
    s.claim("accesses of a whole vector begin at a multiple of it", z3::mod(*x.column, p.wide) == 0);
    if (p.guard != device::Guard::elements)
      s.claim("a vector that is reached is whole", z3::implies(x.reached, *x.column + p.wide <= *n));
    s.claim_arithmetic("no index of a column leaves its type");
  }
  void picks() const {
    Scope s(report);
    const Symbol<int> column = s.any<int>("column", 0, kMostCols);
    const auto place = Index::place(column);
    s.claim("the place of a column leads back to it", *Index::column(place.block, place.chunk, place.lane) == *column);
    const Symbol<int> owner = Index::owner(place.lane, p.wide), element = Index::element(place.lane, p.wide);
    s.claim("the owner of a lane has it at that element", *Index::first_lane(owner, p.wide) + *element == *place.lane &&
                                                              *element >= 0 && *element < p.wide &&
                                                              *Index::held_block(owner, p.wide) == 0);
  }

  // --- Shared memory.
  void cells() const {
    if (!p.on_chip || shape.staged == 0) return;
    Scope s(report);
    const auto cell = [&](const std::string& which) {
      return std::array{s.any<int>("stage" + which, 0, p.stages), s.any<int>("operand" + which, 0, shape.staged),
                        s.any<int>("chunk" + which, 0, p.chunks), s.any<int>("piece" + which, 0, shape.pieces),
                        s.any<int>("thread" + which, 0, p.threads)};
    };
    const auto index = [&](const auto& c) {
      return Index::cell(c[0], c[1], c[2], c[3], c[4], shape.staged, p.chunks, shape.pieces, p.threads);
    };
    const auto a = cell(""), b = cell("'");
    const Symbol<int> x = index(a), y = index(b);
    z3::expr same = s.yes();
    for (std::size_t i = 0; i < a.size(); ++i) same = same && *a[i] == *b[i];
    s.claim("a staged cell belongs to one thread, stage, operand and piece", z3::implies(*x == *y, same));
    s.claim("staged cells lie in front of the box", *x >= 0 && (*x + 1) * shape.piece <= shape.box_at);
    s.claim_arithmetic("no index of a cell leaves its type");
  }
  void box() const {
    Scope s(report);
    const Symbol<int> n = any_cols(s);
    const Owner o = any_owner(s, ""), q = any_owner(s, "'");
    const Place x = at(s, o, n), y = at(s, q, n);
    const Symbol<int> parity = s.any<int>("parity", 0, p.on_chip ? 2 : 1), term = s.any<int>("term", 0, 3);
    const Symbol<int> parity2 = s.any<int>("parity'", 0, p.on_chip ? 2 : 1), term2 = s.any<int>("term'", 0, 3);
    const Symbol<int> a = Index::group(x.block, o.thread, shape.groups, shape.column_threads);
    const Symbol<int> b = Index::group(y.block, q.thread, shape.groups, shape.column_threads);
    const z3::expr same = *o.rank == *q.rank && *o.thread / 32 == *q.thread / 32 && *o.turn == *q.turn;
    s.claim("no two groups of a row have one number", z3::implies(*a == *b, same));
    const int groups = shape.held * p.cluster * shape.groups;
    if (p.on_chip) {
      const Symbol<int> slot = Index::slot(parity, term, a, Symbol<int>(groups));
      const Symbol<int> other = Index::slot(parity2, term2, b, Symbol<int>(groups));
      s.claim("a slot of the box belongs to one group and term",
              z3::implies(*slot == *other, *a == *b && *term == *term2 && *parity == *parity2));
      s.claim("the box lies in the shared memory that is asked for",
              *slot >= 0 && shape.box_at + (*slot + 1) * 4 <= subject.shared_bytes);
      if (p.cluster > 1)
        s.claim("so does what is picked, behind the box",
                *slot < 6 * groups && shape.box_at + 4 * (6 * groups + p.threads) <= subject.shared_bytes);
      s.claim_arithmetic("no index of the box leaves its type");
    }
    s.claim("what the last block exchanges lies there too",
            s.number(shape.box_at + p.threads / 32 * 4) <= subject.shared_bytes);
  }
  // Where a row does not stay on chip: a box and a made row per block, in the workspace.
  void workspace() const {
    if (p.on_chip) return;
    Scope s(report);
    const Symbol<int> n = any_cols(s), blocks = device::column_blocks(n);
    const Symbol<int> term = s.any<int>("term", 0, 3), term2 = s.any<int>("term'", 0, 3);
    const Symbol<int> group = s.any<int>("group", 0, kMostCols), group2 = s.any<int>("group'", 0, kMostCols);
    const Symbol<int> groups = blocks * shape.groups;
    s.assume(*group < *groups && *group2 < *groups);
    const Symbol<int> slot = Index::slot(s.symbol<int>(s.number(0)), term, group, groups);
    const Symbol<int> other = Index::slot(s.symbol<int>(s.number(0)), term2, group2, groups);
    s.claim("a slot in the workspace belongs to one group and term",
            z3::implies(*slot == *other, *group == *group2 && *term == *term2));
    const Symbol<i64> size = Index::scratch(as_long(n), blocks, shape.groups);
    s.claim("slots lie behind the made row, in the block's part", *slot >= 0 && *n + *slot < *size);
    s.claim_arithmetic("no index of the workspace leaves its type");
  }
  void all() const {
    once();
    every();
    canonical();
    picks();
    cells();
    box();
    workspace();
  }
};

}  // namespace tokitai::proofs

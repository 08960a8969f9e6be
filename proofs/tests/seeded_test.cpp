// Index functions broken on purpose: each must be refuted, by the claim that it breaks and with numbers that show it.
// The unbroken functions must pass the same plans, so that what is refuted is the fault.
#include <gtest/gtest.h>

#include "proofs/columns.h"
#include "proofs/each.h"
#include "proofs/row.h"
#include "proofs/tile.h"

namespace tokitai::proofs {
namespace {

device::EachPlan each_plan() {
  device::EachPlan p{};
  p.wide = 4, p.turns = 3, p.threads = 128;
  return p;
}
RowSubject row_subject() {
  RowSubject s;
  s.plan.kinds = 0x11, s.plan.staged = 1, s.plan.wide = 4, s.plan.chunks = 8, s.plan.threads = 128, s.plan.teams = 1;
  s.plan.cluster = 1, s.plan.stages = 2, s.plan.guard = device::Guard::elements, s.plan.on_chip = true;
  const device::RowNumbers n = device::row_numbers(s.plan);
  s.shared_bytes = n.box_at + 6 * n.held * n.groups * 4;
  return s;
}
TileSubject tile_subject() {
  TileSubject s;
  s.plan = {0x111, 64, 64, 16, 4, 4, {4, 8, 2}};
  s.a = {0, false}, s.b = {1, true};
  s.shared_bytes = 2 * device::tile_shape(s.plan).buffer * 4;
  return s;
}

std::vector<Outcome> failures(const Report& report) {
  std::vector<Outcome> out;
  for (const Outcome& o : report.outcomes())
    if (o.verdict != Verdict::proved) out.push_back(o);
  return out;
}
template <class Index> std::vector<Outcome> each_failures() {
  const device::EachPlan plan = each_plan();
  Report report("each", "", {});
  EachClaims<Index>{plan, report}.all();
  return failures(report);
}
template <class Index> std::vector<Outcome> row_failures() {
  const RowSubject subject = row_subject();
  Report report("row", "", {});
  RowClaims<Index>{subject, report}.all();
  return failures(report);
}
template <class Index> std::vector<Outcome> tile_failures() {
  const TileSubject subject = tile_subject();
  Report report("tile", "", {});
  TileClaims<Index>{subject, report}.all();
  return failures(report);
}
void expect_refuted(const std::vector<Outcome>& failures, const std::string& claim) {
  for (const Outcome& o : failures)
    if (o.claim == claim) {
      EXPECT_EQ(o.verdict, Verdict::refuted) << o.counterexample;
      EXPECT_NE(o.counterexample.find(" = "), std::string::npos) << o.counterexample;
      return;
    }
  ADD_FAILURE() << "not refuted: " << claim;
}

TEST(Seeded, NothingIsRefutedUnbroken) {
  EXPECT_TRUE(each_failures<EachIndex>().empty());
  EXPECT_TRUE(row_failures<RowIndex>().empty());
  EXPECT_TRUE(tile_failures<TileIndex>().empty());
}

// --- each.
struct SearchRoundsDown : EachIndex {
  static auto middle(auto low, auto high) { return (low + high) / 2; }
};
struct PieceIgnoresTurns : EachIndex {
  static auto piece_begin(auto piece, auto first, int, int threads, int wide) {
    return (piece - first) * threads * wide;
  }
};
struct PieceIgnoresFirst : EachIndex {
  static auto piece_begin(auto piece, auto, int turns, int threads, int wide) { return piece * turns * threads * wide; }
};
struct ThreadsOverlap : EachIndex {
  static auto vector_begin(auto begin, auto turn, auto thread, int threads, int wide) {
    return begin + (as_long(turn) * threads + thread) * (wide - 1);
  }
};
struct TurnsOverlap : EachIndex {
  static auto vector_begin(auto begin, auto turn, auto thread, int threads, int wide) {
    return begin + (as_long(turn) * (threads - 1) + thread) * wide;
  }
};
struct AlwaysWhole : EachIndex {
  static auto count(auto left, int wide) { return Symbol<int>(*left.ledger(), left.ledger()->number(wide)); }
};
TEST(Seeded, Each) {
  expect_refuted(each_failures<SearchRoundsDown>(), "the search keeps the piece's tensor and comes to an end");
  expect_refuted(each_failures<PieceIgnoresTurns>(), "no element is written twice");
  expect_refuted(each_failures<PieceIgnoresFirst>(), "every element is written");
  expect_refuted(each_failures<ThreadsOverlap>(), "no element is written twice");
  expect_refuted(each_failures<TurnsOverlap>(), "no element is written twice");
  expect_refuted(each_failures<AlwaysWhole>(), "guarded accesses lie in the tensor");
}

// --- row.
struct ColumnOffByOne : RowIndex {
  static auto column(auto block, auto chunk, auto lane) { return block * 2048 + chunk * 256 + lane + 1; }
};
struct ChunksSwapped : RowIndex {
  static auto column(auto block, auto chunk, auto lane) { return block * 2048 + lane * 8 + chunk; }
};
struct ChunksOverlap : RowIndex {
  static auto column(auto block, auto chunk, auto lane) { return block * 2048 + chunk * 255 + lane; }
};
struct WrongLane : RowIndex {
  static auto first_lane(auto thread, int wide) { return thread % (256 / wide) * (wide / 2); }
};
struct WrongBlock : RowIndex {
  static auto first_block(auto rank, auto thread, int held, int wide) { return rank * held + thread / (128 / wide); }
};
struct EveryVectorWhole : RowIndex {
  static auto existing(auto left, int wide) { return choose(left > 0, left - left + wide, Symbol<int>(0)); }
};
struct CellsOverlap : RowIndex {
  static auto cell(auto stage, auto operand, auto chunk, auto piece, auto thread, int operands, int chunks, int pieces,
                   int threads) {
    return (((stage * operands + operand) * chunks + chunk) * pieces + piece) * (threads - 1) + thread;
  }
};
struct StagesShared : RowIndex {
  static auto cell(auto, auto operand, auto chunk, auto piece, auto thread, int, int chunks, int pieces, int threads) {
    return ((operand * chunks + chunk) * pieces + piece) * threads + thread;
  }
};
struct BoxesOverlap : RowIndex {
  static auto slot(auto parity, auto term, auto group, auto groups) { return (parity + term) * groups + group; }
};
struct BoxTooLong : RowIndex {
  static auto slot(auto parity, auto term, auto group, auto groups) { return (parity * 4 + term) * groups + group; }
};
struct GroupsShared : RowIndex {
  static auto group(auto block, auto thread, int groups, int column_threads) {
    return block * groups + thread % column_threads / 64;
  }
};
struct LanePlaceWrong : RowIndex {
  static auto place(auto column) {
    return device::ColumnPlace<decltype(column)>{column / 2048, column % 2048 / 256, column % 255};
  }
};
TEST(Seeded, Row) {
  expect_refuted(row_failures<ColumnOffByOne>(), "a column is worked on in its canonical block, lane and position");
  expect_refuted(row_failures<ChunksSwapped>(), "a column is worked on in its canonical block, lane and position");
  expect_refuted(row_failures<ChunksOverlap>(), "no column is owned twice");
  expect_refuted(row_failures<WrongLane>(), "no column is owned twice");
  expect_refuted(row_failures<WrongBlock>(), "every column is owned");
  expect_refuted(row_failures<EveryVectorWhole>(), "guarded accesses lie in the row");
  expect_refuted(row_failures<CellsOverlap>(), "a staged cell belongs to one thread, stage, operand and piece");
  expect_refuted(row_failures<StagesShared>(), "a staged cell belongs to one thread, stage, operand and piece");
  expect_refuted(row_failures<BoxesOverlap>(), "a slot of the box belongs to one group and term");
  expect_refuted(row_failures<BoxTooLong>(), "the box lies in the shared memory that is asked for");
  expect_refuted(row_failures<GroupsShared>(), "lanes are joined in the order of the pair tree");
  expect_refuted(row_failures<LanePlaceWrong>(), "the place of a column leads back to it");
}

// --- tile.
struct TransposedThreads : TileIndex {
  static auto row(auto thread, auto i, int rows, int thread_rows, int across) {
    return device::tile_col(thread, i, rows, thread_rows, across);
  }
};
struct WordOffByPitch : TileIndex {
  static auto word(auto inner, auto outer, int pitch) { return inner * (pitch - 8) + outer; }
};
struct WordTransposed : TileIndex {
  static auto word(auto inner, auto outer, int pitch) { return outer * pitch + inner; }
};
struct VectorsOverlap : TileIndex {
  static auto vector(auto turn, auto thread, int threads) { return turn * (threads / 2) + thread; }
};
struct TilesSwapped : TileIndex {
  static auto first_row(auto block, auto across, int rows) { return block % across * rows; }
};
TEST(Seeded, Tile) {
  expect_refuted(tile_failures<TransposedThreads>(), "no output of a tile is written twice");
  expect_refuted(tile_failures<WordOffByPitch>(), "factor a: no word stands for two elements");
  expect_refuted(tile_failures<WordTransposed>(), "factor a: words lie in the factor's buffer");
  expect_refuted(tile_failures<VectorsOverlap>(), "factor a: no element is staged twice between two barriers");
  expect_refuted(tile_failures<TilesSwapped>(), "no two blocks have one tile");
}

// A claim over numbers that cannot exist is no proof.
TEST(Seeded, ContradictingAssumptionsProveNothing) {
  Report report("", "", {});
  Scope s(report);
  const Symbol<int> x = s.any<int>("x", 5, 5);
  s.claim("nothing is something", *x == *x + 1);
  EXPECT_EQ(report.outcomes()[0].verdict, Verdict::undecided);
}
// What an int cannot hold is noticed, and what it can is not.
TEST(Seeded, OverflowIsRefuted) {
  for (const bool fits : {true, false}) {
    Report report("", "", {});
    Scope s(report);
    const Symbol<int> x = s.any<int>("x", 0, fits ? 1 << 20 : 1 << 21);
    (void)(x * 2047);
    s.claim_arithmetic("no index leaves its type");
    EXPECT_EQ(report.outcomes()[0].verdict, fits ? Verdict::proved : Verdict::refuted);
  }
}

}  // namespace
}  // namespace tokitai::proofs

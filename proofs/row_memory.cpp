// The threads of a block of the row pattern, the words of shared memory that they own, and what two of them may do
// between two barriers.
#include <array>

#include "proofs/claims.h"
#include "proofs/limits.h"

namespace tokitai::proofs {
namespace {

class Memory {
 public:
  Memory(const RowMemory& part, const Functions& functions, Report& to)
      : p(part.plan), shared_bytes(part.shared_bytes), f(functions), shape(f.row_numbers(p)), report(to) {}

  void threads() const {
    Scope s(report);
    const Int thread = s.any<int>("thread", 0, p.threads), other = s.any<int>("thread'", 0, p.threads);
    const z3::expr team = *f.team_of(thread, shape.team), place = *f.thread_in_team(thread, shape.team);
    s.claim("a thread is one thread of one team", team >= 0 && team < p.teams && place >= 0 && place < shape.team &&
                                                      team * shape.team + place == *thread &&
                                                      s.number(i64{p.teams} * shape.team) == p.threads);
    // Where a team is a group of 32 and its rows stay on chip, it meets nobody else.
    if (!(shape.team == 32 && p.on_chip && p.cluster == 1))
      s.claim("threads that meet at a barrier work on the same rows", team == *f.team_of(other, shape.team));
    s.claim("a thread has one lane of its group", *f.lane_in_team(s.symbol<int>(place)) == z3::mod(*thread, 32));
    s.claim("groups of 32 threads belong to one team",
            z3::implies(*thread / 32 == *other / 32, team == *f.team_of(other, shape.team)));
  }
  void cells() const {
    if (!p.on_chip || p.staged == 0) return;
    const int box = shape.box_at - (p.cluster > 1 ? 16 : 0);
    int before = 0;
    for (int operand = 0; p.staged >> operand != 0; ++operand) {
      const int pieces = f.pieces_of_operand(p, operand);
      cells_of(operand, before, pieces, box);
      before += pieces;
    }
    Scope s(report);
    s.claim("the staged operands share a chunk's cells", s.number(before) == shape.pieces);
    s.claim("cells begin where shared memory does, mailboxes behind them, then the box",
            s.number(f.cells_byte(p)) == 0 && s.number(f.mailboxes_byte(p)) == box &&
                s.number(f.box_byte(p)) == shape.box_at && s.number(f.words_byte(p)) == shape.box_at);
    s.claim("cells, mailboxes and box are aligned", s.number(shape.staged_bytes % 16 + shape.box_at % 4) == 0);
  }
  // One operand's cells lie behind those of the operands before it, in every stage.
  void cells_of(int operand, int before, int pieces, int box) const {
    Scope s(report);
    const std::array c{s.any<int>("stage", 0, p.stages), s.any<int>("chunk", 0, p.chunks),
                       s.any<int>("piece", 0, pieces), s.any<int>("thread", 0, p.threads)};
    const Int cell =
        f.staged_cell(c[0], c[1], c[2], c[3], f.pieces_before(p, operand), pieces, shape.pieces, p.chunks, p.threads);
    const z3::expr x = *cell, a = x / p.threads, stage = a / (shape.pieces * p.chunks);
    const z3::expr mine = z3::mod(a, shape.pieces * p.chunks) - before * p.chunks;
    s.claim("a staged cell belongs to one thread, stage, operand and piece: they follow from its place",
            z3::mod(x, p.threads) == *c[3] && stage == *c[0] && mine >= 0 && mine < pieces * p.chunks &&
                mine / pieces == *c[1] && z3::mod(mine, pieces) == *c[2]);
    s.claim("staged cells lie in front of the mailboxes and the box", x >= 0 && (x + 1) * shape.piece <= box);
    s.claim("an operand's pieces hold its vector", s.number(pieces * shape.piece) == f.vector_bytes(p, operand));
    const int per_piece = p.wide / pieces;
    const Int e = s.any<int>("element", 0, p.wide);
    const z3::expr piece = *f.piece_of(e, per_piece), inside = *f.place_in_piece(e, per_piece);
    s.claim("an element lies in one place of one piece",
            piece >= 0 && piece < pieces && inside >= 0 && inside < per_piece && piece * per_piece + inside == *e);
    for (int parts = 1; parts * 4 <= shape.piece; parts *= 2) {
      const Int part = s.any<int>("part" + std::to_string(parts), 0, parts);
      const z3::expr copied = *f.part_of(c[2], part, parts);
      s.claim("a part of a vector is copied to one place of one cell",
              copied / parts == *c[2] && z3::mod(copied, parts) == *part && copied < pieces * parts);
    }
    s.claim_arithmetic("no index of a cell leaves its type");
  }
  // A reduction posts to one half of the box, all meet, and all read it while the next one posts to the other half.
  void box() const {
    Scope s(report);
    const int groups = shape.held * p.cluster * shape.groups;
    const Int block = s.any<int>("block_of_columns", 0, i64{shape.held} * p.cluster);
    const Int thread = s.any<int>("thread", 0, shape.team);
    s.assume(*f.held_block(thread, p.wide) == z3::mod(*block, shape.held));
    const Int group = f.group_in_row(block, thread, shape.groups, shape.column_threads);
    s.claim("a group's number follows from its block of columns and its threads",
            *group / shape.groups == *block &&
                z3::mod(*group, shape.groups) == z3::mod(*thread, shape.column_threads) / 32 && *group < groups);
    const Int first = s.any<int>("first_block", 0, kMostCols), b = s.any<int>("b", 0, 16);
    s.assume(*first + *b == *block);
    s.claim("a group is read where it posts",
            *f.group_of_block(first, b, s.symbol<int>(z3::mod(*thread, shape.column_threads) / 32), shape.groups) ==
                *group);
    const Int parity = s.any<int>("parity", 0, 2), term = s.any<int>("term", 0, 3);
    const Int slot = f.box_slot(parity, term, group, s.symbol<int>(s.number(groups)));
    s.claim("a slot of the box belongs to one reduction, term and group: they follow from its place",
            z3::mod(*slot, groups) == *group && z3::mod(*slot / groups, 3) == *term && *slot / (groups * 3) == *parity);
    s.claim("the box lies in the shared memory that is asked for",
            *slot >= 0 && shape.box_at + (*slot + 1) * 4 <= shared_bytes);
    if (p.cluster > 1) {
      const z3::expr picks = *f.picks_begin(s.symbol<int>(s.number(groups)));
      s.claim("so does what is picked, behind the box",
              *slot < picks && picks == 6 * groups && shape.box_at + 4 * (picks + 2) <= shared_bytes);
      s.claim("a group sends to every block of the cluster", s.number(p.cluster) <= 32);
    }
    s.claim("what the last block exchanges lies there too",
            s.number(shape.box_at + p.threads / 32 * 4) <= shared_bytes);
    s.claim_arithmetic("no index of the box leaves its type");
    between_barriers();
  }
  void between_barriers() const {
    Scope s(report);
    const int groups = shape.held * p.cluster * shape.groups;
    const Long reduction = s.any<i64>("reduction", 0, kMostElements);
    const auto slot = [&](const z3::expr& which, const std::string& prime) {
      const Int term = s.any<int>("term" + prime, 0, 3), group = s.any<int>("group" + prime, 0, groups);
      return *f.box_slot(s.symbol<int>(z3::mod(which, 2)), term, group, s.symbol<int>(s.number(groups)));
    };
    const z3::expr read = slot(*reduction, ""), written = slot(*reduction + 1, "'");
    const Schedule now = f.box_schedule(reduction), next = f.box_schedule(reduction + 1);
    s.claim("the box is read behind a barrier after it was posted to", *now.writes < *now.reads);
    s.claim("no slot of the box is posted to between the barriers where it is read",
            z3::implies(*now.reads == *next.writes, read != written) && *now.reads <= *next.writes);
    s.claim("a slot is posted to again only when all have read it", *now.reads < *f.box_schedule(reduction + 2).writes);
  }
  // Where a row does not stay on chip: made rows and a box per block, in the workspace.
  void workspace() const {
    Scope s(report);
    const Int n = s.any<int>("cols", 1, kMostCols), blocks = f.column_blocks(n);
    s.claim("blocks of columns hold every column, and none is empty",
            *blocks * kBlock >= *n && (*blocks - 1) * kBlock < *n);
    const Int term = s.any<int>("term", 0, 3), term2 = s.any<int>("term'", 0, 3);
    const Int group = s.any<int>("group", 0, kMostCols), group2 = s.any<int>("group'", 0, kMostCols);
    const Int groups = blocks * shape.groups;
    s.assume(*group < *groups && *group2 < *groups);
    const Int slot = f.box_slot(s.symbol<int>(s.number(0)), term, group, groups);
    const Int other = f.box_slot(s.symbol<int>(s.number(0)), term2, group2, groups);
    s.claim("a slot in the workspace belongs to one group and term",
            z3::implies(*slot == *other, *group == *group2 && *term == *term2));
    const int made = device::count_set(p.made);
    const Long size = f.scratch_size(as_long(n), made, blocks, shape.groups);
    s.claim("slots lie behind the made rows, in the block's part", *slot >= 0 && made * *n + *slot < *size);
    s.claim_arithmetic("no index of the workspace leaves its type");
    parts();
    Scope t(report);
    const Long reduction = t.any<i64>("reduction", 0, kMostElements / 4);
    const Schedule now = f.workspace_schedule(reduction), next = f.workspace_schedule(reduction + 1);
    t.claim("the box is read behind a barrier after it was posted to", *now.writes < *now.reads);
    t.claim("a slot is posted to again only when all have read it", *now.reads < *next.writes);
  }
  // A block's part of the workspace: the product is a number of which nothing is known but its order.
  void parts() const {
    Scope s(report);
    const Int block = s.any<int>("block", 0, kMostResident), blocks = s.any<int>("blocks", 1, kMostResident);
    const Long size = s.any<i64>("size", 1, kMostCols), n = s.any<i64>("cols", 1, kMostCols);
    const Long begin = f.scratch_begin(block, size);
    s.claim("a block's part begins behind those before it", *begin == *block * *size);
    const int made = device::count_set(p.made);
    for (int row = 0; row < made; ++row)
      s.claim("made rows lie one behind the other", *f.made_begin(begin, row, n) == *begin + row * *n);
    s.claim("the box lies behind them", *f.scratch_box(begin, made, n) == *begin + made * *n);
    s.claim("partial results lie behind all parts", *f.scratch_end(blocks, size) == *blocks * *size);
  }
  void all() const {
    threads();
    cells();
    if (p.on_chip)
      box();
    else
      workspace();
  }

 private:
  const device::RowPlan& p;
  const int shared_bytes;
  const Functions& f;
  const device::RowNumbers shape;
  Report& report;
};

}  // namespace

void claim(const RowMemory& part, const Functions& f, Report& report) { Memory(part, f, report).all(); }

}  // namespace tokitai::proofs

// Groups of rows in products: the slots that a group's rows lie in, the table of those, the tiles and matrices of
// groups, and what is cleared behind a group's last row. That nothing is done twice is claimed by naming who does it.
#include <limits>

#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

constexpr i64 kMostInt = std::numeric_limits<int>::max();

// A group: its rows lie from one offset to the next, as the check wants them.
struct Group {
  explicit Group(Scope& s)
      : rows(s.any<i64>("rows", 1, kMostExtent + 1)),
        groups(s.any<i64>("groups", 1, kMostExtent + 1)),
        number(s.any<i64>("group", 0, kMostExtent)),
        begin(s.any<i64>("offset", 0, kMostExtent + 1)),
        end(s.any<i64>("next offset", 0, kMostExtent + 1)) {
    s.assume(*number < *groups && *begin <= *end && *end <= *rows);
    s.assume(z3::implies(*number == 0, *begin == 0) && z3::implies(*number + 1 == *groups, *end == *rows));
  }
  Long rows, groups, number, begin, end;
};

class Slots {
 public:
  Slots(const SlotTable& part, const Functions& functions, Report& to)
      : size(part.slot_rows), f(functions), report(to) {}

  // One group after the other; what holds of a group's first slot holds of the next one's.
  void owned() const {
    Scope s(report);
    const Group g(s);
    const Long first = s.any<i64>("first slot", 0, 2 * kMostExtent);
    s.assume(*first <= *g.begin / size + *g.number && z3::implies(*g.number == 0, *first == 0));
    const Long next = f.slot_behind(first, g.begin, g.end, size), all = f.slots_of(g.rows, g.groups, size);
    s.claim("a group has slots of its own, as many as its rows need: a group without rows has none",
            (*next - *first) * size >= *g.end - *g.begin && (*next - *first) * size < *g.end - *g.begin + size);
    s.claim("the slots of groups are among those that there are",
            *next >= *first && *next <= *g.end / size + *g.number + 1 &&
                z3::implies(*g.number + 1 == *g.groups, *next <= *all));
    const Long slot = s.any<i64>("slot", 0, 2 * kMostExtent);
    s.assume(*slot >= *first && *slot < *next);
    const Long at = f.slot_first(g.begin, slot, first, size);
    s.claim("a slot has rows, and they follow those of the slot before",
            *at == *g.begin + (*slot - *first) * size && *at >= *g.begin && *at < *g.end);
    s.claim("what the table says are numbers of 31 bits",
            *at >= 0 && *at <= s.number(kMostInt) && *g.end <= s.number(kMostInt) && *g.number < s.number(kMostInt) &&
                *next <= s.number(2 * kMostExtent));
    const z3::expr row = *s.any<i64>("row", 0, kMostExtent);
    s.assume(row >= *g.begin && row < *g.end);
    const Long its = s.symbol<i64>(*first + (row - *g.begin) / size);
    const z3::expr from = *f.slot_first(g.begin, its, first, size);
    s.claim("every row of a group lies in one of its slots", *its < *next && from <= row && row < from + size);
    s.claim("and in no other: its slot follows from it", z3::implies(*at <= row && row < *at + size, *slot == *its));
    s.claim_arithmetic("no number of a slot leaves its type");
  }
  // Which thread counts a group's slots.
  void counted() const {
    Scope s(report);
    const Long groups = s.any<i64>("groups", 1, kMostExtent + 1), group = s.any<i64>("group", 0, kMostExtent);
    const Long each = device::pieces_of(groups, device::kSlotThreads);
    s.assume(*group < *groups);
    const Int its = s.symbol<int>(*(group / each)), other = s.any<int>("thread", 0, device::kSlotThreads);
    s.assume(in_order(*its, s.number(device::kSlotThreads), *each, *its * *each, device::kSlotThreads * *each) &&
             in_order(*its, *other, *each, *its * *each, *other * *each));
    const z3::expr first = *f.first_group_of(its, each), begin = *f.first_group_of(other, each);
    s.claim("every group has a thread",
            *its >= 0 && *its < device::kSlotThreads && first <= *group && *group < first + *each);
    s.claim("and no other one", z3::implies(begin <= *group && *group < begin + *each, *other == *its));
    s.claim("threads count in shared memory from its first byte on", s.number(f.slot_counts_byte()) == 0);
    s.claim_arithmetic("no number of a group leaves its type");
  }
  void table() const {
    Scope s(report);
    const Long rows = s.any<i64>("rows", 1, kMostExtent + 1), groups = s.any<i64>("groups", 1, kMostExtent + 1);
    const Long all = f.slots_of(rows, groups, size), bytes = f.slot_table_bytes(all, groups);
    const Long firsts = f.first_slots_bytes(groups), slot = s.any<i64>("slot", 0, 2 * kMostExtent);
    const Long word = f.slot_word(slot);
    s.assume(*slot < *all);
    s.claim("a slot has four words of its own in the table", *word == 4 * *slot);
    s.claim("the table has all of them behind a word for each group and one, and ends at a multiple of 128 bytes",
            4 * (*groups + 1) <= *firsts && z3::mod(*firsts, 128) == 0 && *word >= 0 &&
                *firsts + 4 * (*word + 4) <= *bytes && z3::mod(*bytes, 128) == 0);
    const Long before = s.any<i64>("128 bytes before", 0, kMostExtent) * 128;
    s.claim("the table begins where it should",
            4 * *f.first_slots_begin(before) == *before && 4 * *f.slots_begin(before) == *before);
    const Long row = s.any<i64>("line of all slots", 0, kMostElements);
    s.assume(*row < *all * size);
    const z3::expr its = *f.slot_of_row(row, size), inside = *f.row_in_slot(row, size);
    s.claim("a line of all slots lies in one of them",
            its >= 0 && its < *all && inside >= 0 && inside < size && its * size + inside == *row);
    s.claim_arithmetic("no place of the table leaves its type");
  }
  void all() const {
    owned();
    counted();
    table();
  }

 private:
  const int size;
  const Functions& f;
  Report& report;
};

class Tiles {
 public:
  Tiles(const ProductGroups& part, const Functions& functions, Report& to)
      : p(part.plan),
        integers(p.arithmetic == Arithmetic::block15),
        size(device::kTileRows * p.cluster_rows),
        f(functions),
        shape(f.product_shape(p)),
        report(to) {}

  // What the table and the offsets say.
  void given() const {
    Scope s(report);
    const Int value = s.any<int>("value", -kMostInt, kMostInt), count = s.any<int>("count", 1, kMostInt);
    for (const z3::expr& one :
         {*f.given_group(value, count), *f.given_corner(value, count), *f.given_slot(value, count)}) {
      s.claim("what the table says is one of those that exist", one >= 0 && one < *count);
      s.claim("and is taken as it is where it does", z3::implies(*value >= 0 && *value < *count, one == *value));
    }
  }
  // A cluster's line of tiles is a slot of groups.
  void slots() const {
    Scope s(report);
    const Int line = s.any<int>("line of tiles", 0, kMostTiles);
    s.claim("a line of tiles is a slot", *f.slot_of_line(line) == *line);
    const Int first = s.any<int>("first row of the slot", 0, kMostExtent), place = s.any<int>("row", 0, size);
    const Int below = s.symbol<int>(*place / device::kTileRows), other = s.any<int>("block below", 0, p.cluster_rows);
    const z3::expr at = *f.corner_behind(first, below, device::kTileRows);
    const z3::expr beside = *f.corner_behind(first, other, device::kTileRows), row = *first + *place;
    s.claim("every row of a slot lies in the tile of a block of its cluster",
            *below < p.cluster_rows && at <= row && row < at + device::kTileRows);
    s.claim("and in no other one", z3::implies(beside <= row && row < beside + device::kTileRows, *other == *below));
    s.claim_arithmetic("no row of a slot leaves its type");
    if (!integers) return;
    // Integers have been laid into their slots, as the planner lets pass.
    Scope t(report);
    const Int slot = t.any<int>("slot", 0, kMostExtent / size), rank = t.any<int>("block below", 0, p.cluster_rows);
    const Int inside = t.any<int>("line of the tile", 0, device::kTileRows);
    const Int corner = f.tile_corner(slot, rank, p.cluster_rows, device::kTileRows);
    const Long packed = t.symbol<i64>(*f.part_corner(corner, inside));
    t.claim(
        "a tile of integers has the lines of its slot",
        *f.slot_of_row(packed, size) == *slot && *f.row_in_slot(packed, size) == *rank * device::kTileRows + *inside);
    t.claim_arithmetic("no line of a slot leaves its type");
  }
  // The right factor's matrices, and the planes of each.
  void planes() const {
    Scope s(report);
    // A group of integers has a slot at the least.
    const Int matrix = s.any<int>("matrix", 0, integers ? kMostExtent / size : kMostExtent);
    const Int plane = s.any<int>("plane", 0, shape.planes);
    const z3::expr at = *f.matrix_plane(matrix, plane, shape.planes);
    s.claim("no two matrices have one plane: matrix and plane follow from its number",
            at / shape.planes == *matrix && z3::mod(at, shape.planes) == *plane);
    s.claim_arithmetic("no number of a plane leaves its type");
  }

  // A matrix of outputs for each group: so many lines of tiles each.
  void matrices() const {
    Scope s(report);
    const Int groups = s.any<int>("groups", 1, kMostExtent + 1), down = s.any<int>("lines of a matrix", 1, kMostTiles);
    const Int line = s.any<int>("line of tiles", 0, kMostTiles);
    const z3::expr all = *groups * *down;
    s.assume(all <= s.number(kMostTiles) && *line < all);
    const Int matrix = f.matrix_of_line(line, down), inside = f.line_in_matrix(line, down);
    s.assume(in_order(*matrix, *groups, *down, *matrix * *down, all));
    s.claim("a line of tiles lies in one matrix, and has a number there",
            *matrix >= 0 && *matrix < *groups && *inside >= 0 && *inside < *down && *matrix * *down + *inside == *line);
    s.claim_arithmetic("no number of a line of tiles leaves its type");
    Scope t(report);
    const Int count = t.any<int>("groups", 1, kMostExtent + 1), each = t.any<int>("lines of a matrix", 1, kMostTiles);
    const Int its = t.any<int>("matrix", 0, kMostExtent), at = t.any<int>("line in its matrix", 0, kMostTiles);
    const z3::expr before = *its * *each, total = *count * *each;
    t.assume(total <= t.number(kMostTiles) && *its < *count && *at < *each);
    t.assume(in_order(*its, *count, *each, before, total));
    const Int number = t.symbol<int>(before + *at);
    t.lemma("every line of a matrix is a line of tiles", *number >= 0 && *number < total);
    const z3::expr found = *f.matrix_of_line(number, each);
    t.assume(in_order(found, *its, *each, found * *each, before));
    t.claim("and finds its matrix and its place there", found == *its && *f.line_in_matrix(number, each) == *at);
  }
  void rows_of_matrices() const {
    Scope s(report);
    const Long groups = s.any<i64>("groups", 1, kMostExtent + 1), rows = s.any<i64>("rows", 1, kMostExtent + 1);
    const Long group = s.any<i64>("group", 0, kMostExtent), row = s.any<i64>("row", 0, kMostExtent);
    const z3::expr all = *groups * *rows;
    s.assume(all <= s.number(kMostStored) && *group < *groups && *row < *rows);
    s.assume(in_order(*group, *groups, *rows, *group * *rows, all));
    s.claim("a row of a matrix lies behind those of the matrices before",
            *f.row_of_matrix(group, rows, row) == *group * *rows + *row);
    s.claim_arithmetic("no row of a matrix leaves its type");
    matrix_places("rows of matrices", report);
  }
  // What is summed over: a group's rows, `deep` of them at a time.
  void summed() const {
    Scope s(report);
    const Int begin = s.any<int>("offset", 0, kMostExtent + 1), end = s.any<int>("next offset", 0, kMostExtent + 1);
    const Int block = s.any<int>("block", 0, kMostExtent);
    const Int other = s.any<int>("block'", 0, kMostExtent), row = s.any<int>("row", 0, kMostExtent);
    const int deep = shape.deep;
    const Int count = device::pieces_of(end - begin, deep), its = s.symbol<int>((*row - *begin) / deep);
    s.assume(*begin <= *row && *row < *end && *block < *count && *other < *count);
    // A slot of all, as the planner lets pass.
    const Int slot = s.any<int>("first slot", 0, kMostExtent / 128);
    s.assume((*slot + *count) * deep <= s.number(kMostExtent));
    const Int first = integers ? f.tile_corner(slot, s.symbol<int>(s.number(0)), 1, deep) : begin;
    if (integers) s.claim("a group's integers begin with its first slot", *first == *slot * deep);
    const auto corner = [&](const Int& b) { return *f.corner_behind(first, b, deep); };
    const z3::expr place = *row - *begin;
    s.claim("every row that is summed over lies in a block of its group's",
            *its < *count && corner(its) - *first <= place && place < corner(its) - *first + deep);
    s.claim("and in no other: blocks come in ascending order",
            z3::implies(*block < *other, corner(block) + deep <= corner(other)) && corner(block) >= *first);
    if (integers)
      s.claim("a block's scales are those of its slot",
              *f.scale_behind(first, block, deep) == *slot + *block && corner(block) == (*slot + *block) * deep);
    else
      s.claim("only a group's last block has other groups' rows, behind those of its own",
              z3::implies(corner(block) + deep > *end,
                          *block == *count - 1 && *end - corner(block) == z3::mod(*end - *begin, deep)));
    s.claim_arithmetic("no row that is summed over leaves its type");
  }
  // Behind a group's last row, 256 threads clear the boxes of its slot.
  void cleared() const {
    const int boxes = shape.slot_bytes / 8192;
    Scope s(report);
    s.claim("a slot is boxes of 64 rows of 128 bytes, and has a gate behind the others for those who clear it",
            s.number(boxes * 8192) == shape.slot_bytes && s.number(shape.deep * device::kWideBytes) == 8192 &&
                s.number(shape.gates + (2 * p.slots + 1) * 8) <= shape.bytes);
    const Int rows = s.any<int>("rows of the group", 1, shape.deep), slot = s.any<int>("slot", 0, p.slots);
    const Int thread = s.any<int>("thread", 128, device::kProductThreads), turn = s.any<int>("turn", 0, 2);
    const Int box = s.any<int>("box", 0, boxes), row = f.cleared_row(rows, thread, turn);
    s.claim("no row of a group is cleared", *row >= *rows);
    s.claim("no row is cleared twice: turn and threads follow from it",
            (*row - *rows) / 32 == *turn && z3::mod(*row - *rows, 32) == *thread / 8 - 16);
    s.assume(*row < shape.deep);
    const z3::expr byte = 2 * *f.cleared_half(slot, shape.slot_bytes, box, row, thread);
    s.claim("no piece of a slot is cleared twice: box, row and thread follow from it",
            byte / shape.slot_bytes == *slot && z3::mod(byte, shape.slot_bytes) / 8192 == *box &&
                z3::mod(byte, 8192) / 128 == *row && z3::mod(byte, 128) == z3::mod(*thread, 8) * 16);
    const z3::expr behind = *s.any<int>("row behind the last", 1, shape.deep), piece = *s.any<int>("piece", 0, 8);
    s.assume(behind >= *rows);
    const Int its = s.symbol<int>(128 + z3::mod(behind - *rows, 32) * 8 + piece);
    const Int when = s.symbol<int>((behind - *rows) / 32);
    s.claim("every piece behind a group's last row is cleared",
            *its < device::kProductThreads && *when < 2 && *f.cleared_row(rows, its, when) == behind &&
                2 * *f.cleared_half(slot, shape.slot_bytes, box, s.symbol<int>(behind), its) ==
                    *slot * shape.slot_bytes + *box * 8192 + behind * 128 + piece * 16);
    s.claim_arithmetic("no place that is cleared leaves its type");
  }
  void all() const {
    given();
    planes();
    if (p.grouped == device::Grouped::rows) return slots();
    matrices();
    rows_of_matrices();
    summed();
    if (device::clears(p)) cleared();
  }

 private:
  const device::ProductPlan& p;
  const bool integers;
  const int size;  // rows of a slot of groups
  const Functions& f;
  const device::ProductShape shape;
  Report& report;
};

}  // namespace

void claim(const SlotTable& part, const Functions& f, Report& report) {
  claim(RowTeams{device::kSlotThreads}, f, report);  // who asks an offset, and who finds a slot
  if (part.slot_rows > 0) Slots(part, f, report).all();
}
void claim(const ProductGroups& part, const Functions& f, Report& report) { Tiles(part, f, report).all(); }

// What a pass takes from groups: tasks of one slot, or of one matrix.
void claim(const PackedGroups& part, const Functions& f, Report& report) {
  const int size = part.slot_rows;
  Scope s(report);
  const Int thread = s.any<int>("thread", 0, device::kPackThreads), i = s.any<int>("i", 0, 4);
  if (part.sums) {
    const Long block = s.any<i64>("block", 0, kMostExtent / 128);
    const Long row = f.turned_inner(block, f.four_of(thread), i);
    s.claim("a task has the rows of one slot",
            *f.slot_of_row(row, size) == *block && *f.row_in_slot(row, size) == *f.four_of(thread) * 4 + *i);
    return s.claim_arithmetic("no row of a slot leaves its type");
  }
  const Int other = s.any<int>("thread'", 0, device::kPackThreads);
  const Long task = s.any<i64>("task", 0, kMostBlocks), across = s.any<i64>("tasks across", 1, kMostBlocks);
  const Long line = f.pass_line(task, across, thread), beside = f.pass_line(task, across, other);
  s.claim("the lines of a task lie in one slot", *f.slot_of_row(line, size) == *f.slot_of_row(beside, size));
  Scope t(report);
  const Long matrices = t.any<i64>("matrices", 1, kMostExtent), per = t.any<i64>("tasks of a matrix", 1, kMostBlocks);
  const Long number = t.any<i64>("task", 0, kMostBlocks);
  const z3::expr all = *matrices * *per;
  t.assume(*number < all && all <= t.number(kMostBlocks));
  const z3::expr matrix = *f.task_matrix(number, per), its = *f.remainder(number, per);
  t.assume(in_order(matrix, *matrices, *per, matrix * *per, all));
  t.claim("a task is one of one matrix",
          matrix >= 0 && matrix < *matrices && its >= 0 && its < *per && matrix * *per + its == *number);
  t.claim_arithmetic("no number of a task leaves its type");
  // A row of a matrix of the right factor.
  const Long rows = t.any<i64>("rows of a matrix", 1, kMostExtent), row = t.any<i64>("row", 0, kMostExtent);
  t.claim("a row of a matrix lies behind those of the matrices before",
          *f.row_of_matrix(t.symbol<i64>(matrix), rows, row) == matrix * *rows + *row);
}

}  // namespace tokitai::proofs

// Who owns a column of a row, and in which canonical place. That no column has two owners is claimed by naming the one
// that it has: the owner follows from the column.
#include "proofs/claims.h"
#include "proofs/limits.h"

namespace tokitai::proofs {
namespace {

using device::Guard;

class Columns {
 public:
  Columns(const RowColumns& part, const Functions& functions, Report& to)
      : p(part.plan), f(functions), shape(f.row_numbers(p)), report(to) {}

  void owners() const {
    Scope s(report);
    const Int n = any_cols(s);
    const i64 turns = p.on_chip ? 1 : kMostCols / kBlock / shape.held + 2;
    const Owner o{s.any<int>("rank", 0, p.cluster), s.any<int>("thread", 0, shape.team), s.any<int>("turn", 0, turns),
                  s.any<int>("chunk", 0, p.chunks), s.any<int>("element", 0, p.wide)};
    const Place x = at(s, o, n);
    const z3::expr column = *x.column + *o.element, lane = *x.lane + *o.element, block = *x.block;
    s.claim(
        "a column is worked on in its canonical block, lane and position",
        column / kBlock == block && z3::mod(column, kLanes) == lane && z3::mod(column, kBlock) / kLanes == *o.chunk);
    s.claim("no column is owned twice: its owner follows from its canonical place",
            block / shape.held == (p.on_chip ? *o.rank : *o.turn) &&
                z3::mod(block, shape.held) * shape.column_threads + lane / p.wide == *o.thread &&
                z3::mod(lane, p.wide) == *o.element);
    s.claim("an element's lane gives its column",
            *f.column_of(x.block, o.chunk, f.lane_of(x.lane, o.element)) == column);
    s.claim("an element is worked on where its column exists, and only there", x.worked == (column < *n));
    // A thread joins its elements, a group its 32 threads, the box its groups: neighbours first, level by level.
    const z3::expr group =
        *f.group_in_row(x.block, o.thread, shape.groups, shape.column_threads) - block * shape.groups;
    s.claim("lanes are joined in the order of the pair tree",
            group >= 0 && group < shape.groups && lane == (group * 32 + z3::mod(*o.thread, 32)) * p.wide + *o.element &&
                kLanes == shape.groups * 32 * p.wide);
    s.claim("guarded accesses lie in the row", z3::implies(x.worked, column >= 0 && column < *n));
    s.claim("accesses of a whole vector begin at a multiple of it", z3::mod(*x.column, p.wide) == 0);
    if (p.guard != Guard::elements)
      s.claim("a vector that is reached is whole", z3::implies(x.reached, *x.column >= 0 && *x.column + p.wide <= *n));
    s.claim_arithmetic("no index of a column leaves its type");
  }
  void every() const {
    Scope s(report);
    const Int n = any_cols(s), column = s.any<int>("column", 0, kMostCols);
    s.assume(*column < *n);
    const z3::expr block = *column / kBlock, lane = z3::mod(*column, kLanes), turn = block / shape.held;
    const Owner o{s.symbol<int>(p.on_chip ? turn : s.number(0)),
                  s.symbol<int>(z3::mod(block, shape.held) * shape.column_threads + lane / p.wide),
                  s.symbol<int>(p.on_chip ? s.number(0) : turn), s.symbol<int>(z3::mod(*column, kBlock) / kLanes),
                  s.symbol<int>(z3::mod(lane, p.wide))};
    s.lemma("the owner of a column is a thread of the launch",
            *o.rank < p.cluster && *o.thread < shape.team && *o.chunk < p.chunks);
    s.lemma("the owner of a column has its block and lane",
            *f.held_block(o.thread, p.wide) == z3::mod(block, shape.held) &&
                *f.first_lane(o.thread, p.wide) + *o.element == lane);
    const Place x = at(s, o, n);
    s.claim("every column is owned", x.worked && *x.column + *o.element == *column);
  }
  void picks() const {
    Scope s(report);
    const Int column = s.any<int>("column", 0, kMostCols);
    const auto place = f.place_of_column(column);
    s.claim("the place of a column leads back to it", *f.column_of(place.block, place.chunk, place.lane) == *column &&
                                                          *place.lane < kLanes && *place.chunk < kChunks);
    const Int owner = f.owner_of_lane(place.lane, p.wide), element = f.element_of_lane(place.lane, p.wide);
    s.claim("the owner of a lane has it at that element", *f.first_lane(owner, p.wide) + *element == *place.lane &&
                                                              *element >= 0 && *element < p.wide &&
                                                              *f.held_block(owner, p.wide) == 0);
    s.claim_arithmetic("no index of a picked column leaves its type");
  }

 private:
  // A thread's element of a row: in which block of the cluster, and, where the row does not stay on chip, in which of
  // the thread's turns.
  struct Owner {
    Int rank, thread, turn, chunk, element;
  };
  struct Place {
    Int block, lane, column;  // the first lane and column of the owner's vector
    z3::expr reached;         // the vector is worked on
    z3::expr worked;          // and the element
  };
  // Any number of columns that the plan is right for.
  Int any_cols(Scope& s) const {
    const device::ColumnRange range = f.columns_for(p, static_cast<int>(kMostCols - 1));
    const Int n = s.any<int>("cols", range.least, i64{range.most} + 1);
    s.assume(z3::mod(*n, range.multiple) == 0);
    return n;
  }
  // As RowMachine goes: for_blocks, for_chunks, inside.
  Place at(Scope& s, const Owner& o, const Int& n) const {
    const Int lane = f.first_lane(o.thread, p.wide);
    const Int first = f.first_block_of(o.rank, o.thread, shape.held, p.wide);
    const Int block = p.on_chip ? first : first + o.turn * shape.held;
    const z3::expr visited = p.on_chip ? s.yes() : *block < *f.column_blocks(n);
    z3::expr count = s.number(p.wide);
    const Int column = f.column_of(block, o.chunk, lane);
    if (p.guard != Guard::none) {
      count = *f.existing(n - column, p.wide);
      if (!p.blind && p.chunks == kChunks) count = z3::ite(f.whole_block(block, n).value, s.number(p.wide), count);
    }
    const z3::expr inside = p.guard == Guard::elements ? *o.element < count : s.yes();
    const z3::expr reached = visited && count > 0;
    return {block, lane, column, reached, reached && inside};
  }

  const device::RowPlan& p;
  const Functions& f;
  const device::RowNumbers shape;
  Report& report;
};

}  // namespace

void claim(const RowColumns& part, const Functions& f, Report& report) {
  const Columns columns(part, f, report);
  columns.owners();
  columns.every();
  columns.picks();
}

}  // namespace tokitai::proofs

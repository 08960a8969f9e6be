// The rows of the segment pattern: which rows and columns a group of 32 threads copies, sums or clears, and the cells
// of rows on their way.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

class Rows {
 public:
  Rows(const SegmentRows& part, const Functions& functions, Report& to) : part_(part), f(functions), report(to) {}

  // Items that all blocks share, `each` at once per block: threads take indices, groups take rows.
  void items(const std::string& what, int each) const {
    Scope s(report);
    const Int blocks = s.any<int>("blocks", 1, kMostResident);
    const Int block = s.any<int>("block", 0, kMostResident), other = s.any<int>("block'", 0, kMostResident);
    const Int worker = s.any<int>("worker", 0, each), worker2 = s.any<int>("worker'", 0, each);
    const Long turn = s.any<i64>("turn", 0, kMostItems), turn2 = s.any<i64>("turn'", 0, kMostItems);
    const Long before = s.any<i64>("turn * blocks", 0, kMostItems);
    const Long before2 = s.any<i64>("turn' * blocks", 0, kMostItems);
    s.assume(*block < *blocks && *other < *blocks && in_order(*turn, *turn2, *blocks, *before, *before2));
    const z3::expr a = *f.first_item(block, worker, each) + *before * each;
    const z3::expr b = *f.first_item(other, worker2, each) + *before2 * each;
    s.claim("no " + what + " is taken twice",
            z3::implies(a == b, *block == *other && *worker == *worker2 && *turn == *turn2));
    s.claim("a turn takes as many as all blocks do at once", *f.item_step(blocks, each) == *blocks * each);
    s.claim_arithmetic("no number of a " + what + " leaves its type");
    const Long item = s.any<i64>(what, 0, kMostItems);
    s.assume(*before + *block == *item / each);  // the quotient and the remainder by the blocks
    const Int its = s.symbol<int>(z3::mod(*item, each));
    s.claim("every " + what + " is taken", *f.first_item(block, its, each) + *before * each == *item);
  }
  // A copied row: four slabs at once.
  void copied() const {
    Scope s(report);
    const Long dim = any_dim(s), turns = s.any<i64>("round", 0, kMostItems);
    const Int turn = s.any<int>("turn", 0, kSlabs), lane = s.any<int>("lane", 0, 32);
    const Int e = s.any<int>("element", 0, part_.wide);
    const int round = kSlabs * 32 * part_.wide;
    s.assume(*turns * round < *dim);
    const Long at = f.copied_column(s.symbol<i64>(*turns * round), turn, lane, part_.wide);
    const z3::expr column = *at + *e;
    s.claim("no column of a copied row is written twice: its thread follows from it",
            column / round == *turns && z3::mod(column, round) / (32 * part_.wide) == *turn &&
                z3::mod(column, 32 * part_.wide) / part_.wide == *lane && z3::mod(column, part_.wide) == *e);
    vectors(s, dim, at, e);
    s.claim_arithmetic("no column of a copied row leaves its type");
    Scope t(report);
    const Long n = any_dim(t), x = t.any<i64>("column", 0, kMostItems);
    t.assume(*x < *n);
    const Long begin = t.symbol<i64>(*x / round * round);
    const Int its = t.symbol<int>(z3::mod(*x, round) / (32 * part_.wide));
    const Int owner = t.symbol<int>(z3::mod(*x, 32 * part_.wide) / part_.wide);
    t.claim("every column of a copied row is written",
            *begin < *n && *its < kSlabs && *owner < 32 &&
                *f.copied_column(begin, its, owner, part_.wide) + z3::mod(*x, part_.wide) == *x);
  }
  // Items of sums: a window of 32 positions and a slab of columns.
  void slabs() const {
    Scope s(report);
    const Long dim = any_dim(s), slabs = f.slabs_of(dim, part_.wide), item = s.any<i64>("item", 0, kMostItems);
    const Int lane = s.any<int>("lane", 0, 32), e = s.any<int>("element", 0, part_.wide);
    const Long at = f.slab_column(item, slabs, lane, part_.wide);
    const z3::expr column = *at + *e, slab = *(item % slabs), window = *(item / slabs);
    s.claim("no column of a window is summed twice: its item and lane follow from it",
            column / (32 * part_.wide) == slab && z3::mod(column, 32 * part_.wide) / part_.wide == *lane &&
                z3::mod(column, part_.wide) == *e && *item == window * *slabs + slab);
    s.claim("an item's window is its number by the slabs", *f.window_of(item, slabs) == window);
    vectors(s, dim, at, e);
    s.claim_arithmetic("no column of a slab leaves its type");
    Scope t(report);
    const Long n = any_dim(t), all = f.slabs_of(n, part_.wide), x = t.any<i64>("column", 0, kMostItems);
    const Long w = t.any<i64>("window", 0, kMostSorted), slab_of = t.any<i64>("slab", 0, kMostItems);
    t.assume(*x < *n && *slab_of == *x / (32 * part_.wide));
    t.lemma("the slab of a column is one of the row", *slab_of < *all);
    const Long product = t.any<i64>("window * slabs", 0, kMostItems);
    const Long one = t.symbol<i64>(*product + *slab_of);
    // Quotient and remainder are the only numbers of their kind.
    const Long q = one / all, r = one % all, times = t.any<i64>("quotient * slabs", 0, kMostItems);
    t.assume(in_order(*w, *q, *all, *product, *times) && *one == *times + *r);
    t.lemma("an item is one window and one slab", *q == *w && *r == *slab_of);
    const Int owner = t.symbol<int>(z3::mod(*x, 32 * part_.wide) / part_.wide);
    t.claim("every column of a window is summed",
            *f.slab_column(one, all, owner, part_.wide) + z3::mod(*x, part_.wide) == *x);
  }
  // Rows of the vocabulary that nobody asked for, 32 at a time.
  void windows() const {
    Scope s(report);
    const Long window = s.any<i64>("window", 0, kMostSorted);
    const Int b = s.any<int>("lane", 0, 32);
    const z3::expr row = *f.window_begin(window) + *b;
    s.claim("a window has 32 rows or positions of its own: they follow from them",
            row / 32 == *window && z3::mod(row, 32) == *b);
  }
  // A round of the levels has a few windows.
  void rounds() const {
    Scope s(report);
    const Long round = s.any<i64>("round", 0, kMostSorted);
    const Int scan = s.any<int>("scan", 0, kScans);
    const z3::expr window = *f.window_in_round(round, scan, kScans);
    s.claim("a window belongs to one round: it follows from it",
            window / kScans == *round && z3::mod(window, kScans) == *scan);
  }
  // Rows on their way lie in their thread's cells, one slot per position, in turn.
  void cells() const {
    Scope s(report);
    const int base = device::sort_shared_words(part_.threads / 32, 1 << part_.digit_bits) * 4;
    const Int slot = s.any<int>("slot", 0, part_.ahead), thread = s.any<int>("thread", 0, part_.threads);
    const z3::expr cell = *f.row_cell(slot, thread, part_.threads);
    s.claim("a cell belongs to one thread and slot: they follow from it",
            cell / part_.threads == *slot && z3::mod(cell, part_.threads) == *thread);
    s.claim("cells lie behind the sort's words, in the shared memory that is asked for",
            base + (cell + 1) * part_.row_bytes <= part_.shared_bytes && s.number(base % part_.row_bytes) == 0);
    const Long p = s.any<i64>("position", 0, kMostSorted), q = s.any<i64>("position'", 0, kMostSorted);
    s.assume(*p < *q && *q < *p + part_.ahead);
    s.claim("positions on their way at once have slots of their own",
            *f.slot_of_position(p, part_.ahead) != *f.slot_of_position(q, part_.ahead));
    s.claim("a position is sent for when its slot has been read",
            *f.slot_of_position(p + part_.ahead, part_.ahead) == *f.slot_of_position(p, part_.ahead));
    s.claim_arithmetic("no index of a cell leaves its type");
  }
  void all() const {
    items("index", part_.threads);
    items("row", part_.threads / 32);
    windows();
    copied();
    if (part_.gathers) return;
    slabs();
    rounds();
    cells();
  }

 private:
  static constexpr int kSlabs = 4;  // kVectors of gather
  static constexpr int kScans = 4;  // kScan of join
  Long any_dim(Scope& s) const {
    const Long dim = s.any<i64>("dim", 1, kMostItems);
    if (part_.whole) s.assume(z3::mod(*dim, part_.wide) == 0);
    return dim;
  }
  // What is read and written of a vector at a column.
  void vectors(Scope& s, const Long& dim, const Long& at, const Int& e) const {
    const z3::expr inside = *at < *dim, exists = *at + *e < *dim;
    s.claim("vectors begin at a multiple of their size", z3::mod(*at, part_.wide) == 0 && *at >= 0);
    if (part_.whole)
      s.claim("a vector that begins in the row lies in it", inside == exists);
    else
      s.claim("elements are worked on where they exist, and only there",
              (inside && *e < *f.at_most(dim - at, part_.wide)) == exists);
  }

  const SegmentRows& part_;
  const Functions& f;
  Report& report;
};

}  // namespace

void claim(const SegmentRows& part, const Functions& f, Report& report) { Rows(part, f, report).all(); }

}  // namespace tokitai::proofs

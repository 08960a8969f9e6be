// The outputs of the tile pattern: which of them a thread owns, and which tile a block. That none has two owners is
// claimed by naming the one that it has.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

class Outputs {
 public:
  Outputs(const TileOutputs& part, const Functions& functions, Report& to)
      : p(part.plan), shared_bytes(part.shared_bytes), f(functions), shape(f.tile_shape(p)), report(to) {}

  void owners() const {
    Scope s(report);
    const Int t = thread(s), i = s.any<int>("i", 0, p.thread_rows), j = s.any<int>("j", 0, p.thread_cols);
    const Int r = row(t, i), c = col(t, j);
    s.claim("outputs lie in the tile", *r >= 0 && *r < p.rows && *c >= 0 && *c < p.cols);
    const Owner o = owner(*r, *c);
    s.claim("no output of a tile is written twice: its thread follows from it",
            o.thread == *t && o.i == *i && o.j == *j);
    s.claim_arithmetic("no index of an output leaves its type");
  }
  // Every row is a row of four of a band, and every column likewise: then its thread and its number follow.
  void every() const {
    Scope s(report);
    const int band = p.rows / (p.thread_rows / 4), strip = p.cols / (p.thread_cols / 4), wide = shape.across / 8;
    const z3::expr r = *s.any<int>("tile_row", 0, p.rows), c = *s.any<int>("tile_col", 0, p.cols);
    s.claim("every output of a tile has a place in four of a band and of a strip",
            r == r / band * band + z3::mod(r, band) / 4 * 4 + z3::mod(r, 4) && r / band < p.thread_rows / 4 &&
                c == c / strip * strip + z3::mod(c, strip) / 4 * 4 + z3::mod(c, 4) && c / strip < p.thread_cols / 4);
    Scope t(report);
    const z3::expr below = *t.any<int>("group_below", 0, band / 16), down = *t.any<int>("lane_below", 0, 4);
    const z3::expr right = *t.any<int>("group_beside", 0, wide), beside = *t.any<int>("lane_beside", 0, 8);
    const z3::expr q = *t.any<int>("band", 0, p.thread_rows / 4), e = *t.any<int>("row_of_four", 0, 4);
    const z3::expr v = *t.any<int>("strip", 0, p.thread_cols / 4), d = *t.any<int>("col_of_four", 0, 4);
    const Int thread = t.symbol<int>((below * wide + right) * 32 + down * 8 + beside);
    t.claim("every output of a tile is written",
            *thread < shape.threads &&
                *row(thread, t.symbol<int>(4 * q + e)) == q * band + (below * 4 + down) * 4 + e &&
                *col(thread, t.symbol<int>(4 * v + d)) == v * strip + (right * 8 + beside) * 4 + d);
    t.claim("bands and strips have no other places", t.number(band % 16 + strip % 32 + (strip / 32 - wide)) == 0);
  }
  // Four neighbouring outputs are stored at once, and four neighbouring words read at once.
  void neighbours() const {
    Scope s(report);
    const Int t = thread(s), q = s.any<int>("q", 0, p.thread_cols / 4), e = s.any<int>("e", 0, 4);
    const Int v = s.any<int>("v", 0, p.thread_rows / 4);
    const Int first = col(t, f.first_of_four(q)), above = row(t, f.first_of_four(v));
    s.claim("four columns of a thread are neighbours, from a multiple of four",
            *col(t, 4 * q + e) == *first + *e && z3::mod(*first, 4) == 0);
    s.claim("four rows of a thread are neighbours, from a multiple of four",
            *row(t, 4 * v + e) == *above + *e && z3::mod(*above, 4) == 0);
  }
  void memory() const {
    Scope s(report);
    const Int t = thread(s), step = s.any<int>("inner", 0, p.inner), stage = s.any<int>("stage", 0, 2);
    const Int i = s.any<int>("i", 0, p.thread_rows), j = s.any<int>("j", 0, p.thread_cols);
    const z3::expr a = *f.staged_word(step, row(t, i), shape.pitch_a);
    const z3::expr b = *f.staged_word(step, col(t, j), shape.pitch_b);
    const int behind = shape.pitch_a * p.inner;
    s.claim("factors are read inside their buffers",
            a >= 0 && a < behind && b >= 0 && behind + b < shape.buffer &&
                s.number(shape.pitch_a % 4 + shape.pitch_b % 4 + behind % 4 + shape.buffer % 4) == 0);
    const Int word = s.any<int>("word", 0, shape.buffer);
    const Int inner = s.any<int>("line", 0, p.inner), outer = s.any<int>("outer", 0, shape.pitch_a);
    s.claim("a line begins where its first word is staged",
            *f.line_begin(inner, shape.pitch_a) + *outer == *f.staged_word(inner, outer, shape.pitch_a));
    s.claim("the second factor lies behind the first, a stage behind the other",
            s.number(f.second_factor(shape.pitch_a, p.inner)) == behind && s.number(f.factors_byte()) == 0 &&
                *f.stage_begin(stage, shape.buffer) == *stage * shape.buffer);
    s.claim("both stages lie in the shared memory that is asked for",
            (*stage * shape.buffer + *word + 1) * 4 <= shared_bytes);
    s.claim_arithmetic("no index of a staged word leaves its type");
  }
  // A turn fills one stage, all meet, and all read it while the next turn fills the other.
  void between_barriers() const {
    Scope s(report);
    const Long turn = s.any<i64>("turn", 0, kMostElements);
    const Int x = s.any<int>("word", 0, shape.buffer), y = s.any<int>("word'", 0, shape.buffer);
    const Schedule now = f.stage_schedule(turn), next = f.stage_schedule(turn + 1);
    const z3::expr stage = z3::mod(*turn, 2), other = z3::mod(*turn + 1, 2);
    s.claim("a stage is read behind a barrier after it was filled", *now.writes < *now.reads);
    s.claim("no word is filled between the barriers where it is read",
            *now.reads <= *next.writes &&
                z3::implies(*now.reads == *next.writes, stage * shape.buffer + *x != other * shape.buffer + *y));
    s.claim("a stage is filled again only when all have read it", *now.reads < *f.stage_schedule(turn + 2).writes);
  }

 private:
  struct Owner {
    z3::expr thread, i, j;
  };
  // Who should own an output: the tile is cut into bands of four rows (columns) per thread of a line.
  Owner owner(const z3::expr& r, const z3::expr& c) const {
    const int band = p.rows / (p.thread_rows / 4), strip = p.cols / (p.thread_cols / 4), wide = shape.across / 8;
    const z3::expr down = z3::mod(r, band) / 4, beside = z3::mod(c, strip) / 4;
    return {(down / 4 * wide + beside / 8) * 32 + z3::mod(down, 4) * 8 + z3::mod(beside, 8),
            r / band * 4 + z3::mod(r, 4), c / strip * 4 + z3::mod(c, 4)};
  }
  Int thread(Scope& s) const { return s.any<int>("thread", 0, shape.threads); }
  Int row(const Int& thread, const Int& i) const { return f.tile_row(thread, i, p.rows, p.thread_rows, shape.across); }
  Int col(const Int& thread, const Int& j) const { return f.tile_col(thread, j, p.cols, p.thread_cols, shape.across); }

  const device::TilePlan& p;
  const int shared_bytes;
  const Functions& f;
  const device::TileShape shape;
  Report& report;
};

// Output rows and columns, and the tiles that they make.
struct Grid {
  Grid(Scope& s, const TileGrid& part)
      : rows(s.any<i64>("rows", 1, kMostElements)),
        cols(s.any<i64>("cols", 1, kMostElements)),
        across(device::pieces_of(cols, part.cols)),
        down(device::pieces_of(rows, part.rows)) {
    s.assume(*across * *down <= s.number(kMostBlocks));  // plan_tile.cpp refuses more
  }
  Long rows, cols, across, down;
};
void tiles(const TileGrid& part, const Functions& f, Report& report) {
  Scope s(report);
  const Grid g(s, part);
  const Int block = s.any<int>("block", 0, kMostBlocks), other = s.any<int>("block'", 0, kMostBlocks);
  s.assume(*block < *g.across * *g.down && *other < *g.across * *g.down);
  const Long r = f.tile_first_row(block, g.across, part.rows), c = f.tile_first_col(block, g.across, part.cols);
  const Long r2 = f.tile_first_row(other, g.across, part.rows), c2 = f.tile_first_col(other, g.across, part.cols);
  s.claim("no two blocks have one tile", z3::implies(*r == *r2 && *c == *c2, *block == *other));
  const Int inside = s.any<int>("inside", 0, 256);
  s.claim("an output lies in its tile",
          *f.output_row(r, inside) == *r + *inside && *f.output_col(c, inside) == *c + *inside);
  s.claim("a tile begins inside the output",
          *r >= 0 && *c >= 0 && *c < *g.cols && z3::mod(*r, part.rows) == 0 && z3::mod(*c, part.cols) == 0);
  s.claim_arithmetic("no index of a tile leaves its type");
}
void tiles_every(const TileGrid& part, const Functions& f, Report& report) {
  Scope s(report);
  const Grid g(s, part);
  const Long r = s.any<i64>("row", 0, kMostElements), c = s.any<i64>("col", 0, kMostElements);
  s.assume(*r < *g.rows && *c < *g.cols);
  const Long down = s.any<i64>("tile_down", 0, kMostElements), beside = s.any<i64>("tile_across", 0, kMostElements);
  s.assume(*down * part.rows <= *r && *r < *down * part.rows + part.rows);
  s.assume(*beside * part.cols <= *c && *c < *beside * part.cols + part.cols);
  s.lemma("the tile of an output lies in the grid of tiles", *down < *g.down && *beside < *g.across);
  const z3::expr before = *down * *g.across, block = before + *beside;
  s.assume(in_order(*down, *g.down, *g.across, before, *g.down * *g.across));
  s.lemma("and whole lines of tiles lie before it", before + *g.across <= *g.down * *g.across);
  s.lemma("so it is one of the launch", block >= 0 && block < *g.across * *g.down && block < s.number(kMostBlocks));
  const Int b = s.symbol<int>(block);
  const z3::expr line = *(b / g.across);
  s.assume(in_order(*down, line, *g.across, before, line * *g.across));
  s.claim("every output lies in a tile", *f.tile_first_row(b, g.across, part.rows) == *down * part.rows &&
                                             *f.tile_first_col(b, g.across, part.cols) == *beside * part.cols);
}
// Lines of tiles of groups: a slot of rows each, or several of a matrix.
void lines(const TileGrid& part, const Functions& f, Report& report) {
  Scope s(report);
  const Long cols = s.any<i64>("cols", 1, kMostElements), across = device::pieces_of(cols, part.cols);
  const Long lines = s.any<i64>("lines of tiles", 1, kMostBlocks), beside = s.any<i64>("tile_across", 0, kMostBlocks);
  const z3::expr all = *across * *lines;
  s.assume(all <= s.number(kMostBlocks));  // plan_tile.cpp refuses more
  const Int block = s.any<int>("block", 0, kMostBlocks);
  s.assume(*block < all && *beside < *across);
  const Long line = f.line_of_tiles(block, across), col = f.tile_first_col(block, across, part.cols);
  s.assume(in_order(*line, *lines, *across, *line * *across, all));
  s.claim("a block's line of tiles exists", *line >= 0 && *line < *lines);
  s.claim("no two blocks have one tile of a line: the block follows from line and column",
          *col >= 0 && z3::mod(*col, part.cols) == 0 && *line * *across + *col / part.cols == *block);
  s.claim_arithmetic("no index of a line of tiles leaves its type");
  const Long wanted = s.any<i64>("line", 0, kMostBlocks);
  const z3::expr before = *wanted * *across;
  s.assume(*wanted < *lines && in_order(*wanted, *lines, *across, before, all));
  const Int its = s.symbol<int>(before + *beside);
  const z3::expr found = *f.line_of_tiles(its, across);
  s.assume(in_order(found, *wanted, *across, found * *across, before));
  s.claim("every tile of a line has a block", *its >= 0 && *its < all && found == *wanted &&
                                                  *f.tile_first_col(its, across, part.cols) == *beside * part.cols);
  if (part.grouped != device::Grouped::sums) return;
  const Long rows = s.any<i64>("rows", 1, kMostElements), down = device::pieces_of(rows, part.rows);
  const z3::expr first = *f.tile_row_in_matrix(wanted, down, part.rows), matrix = *(wanted / down);
  s.claim("no two lines of tiles of a matrix begin with one row: the line follows from row and matrix",
          z3::mod(first, part.rows) == 0 && matrix * *down + first / part.rows == *wanted);
  s.claim("a tile begins inside its matrix", first >= 0 && first < *rows);
}
void stores(const TileGrid& part, const Functions& f, Report& report) {
  Scope s(report);
  const Long cols = s.any<i64>("cols", 1, kMostElements), col = s.any<i64>("col", 0, kMostElements);
  const Int e = s.any<int>("e", 0, 4);
  s.assume(z3::mod(*col, 4) == 0);
  const Long left = cols - col;
  const z3::expr inside = *left > 0, exists = *col + *e < *cols;
  if (part.out_vector >= 4) {
    s.assume(z3::mod(*cols, 4) == 0);  // plan_tile.cpp: an access never leaves its row
    s.claim("an output is stored where it exists, and only there", inside == exists);
  } else {
    s.claim("an output is stored where it exists, and only there", (inside && *e < *f.at_most(left, 4)) == exists);
  }
}

}  // namespace

void claim(const TileOutputs& part, const Functions& f, Report& report) {
  const Outputs outputs(part, f, report);
  outputs.owners();
  outputs.every();
  outputs.neighbours();
  outputs.memory();
  outputs.between_barriers();
}
void claim(const TileGrid& part, const Functions& f, Report& report) {
  products_in_order(report);
  if (part.grouped == device::Grouped::no) {
    tiles(part, f, report);
    tiles_every(part, f, report);
  } else {
    lines(part, f, report);
  }
  stores(part, f, report);
}

}  // namespace tokitai::proofs

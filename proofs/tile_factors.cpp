// The factors of the tile pattern: which of their elements a thread brings, where they are staged, and in which order
// the chain takes them.
#include "proofs/claims.h"
#include "proofs/limits.h"

namespace tokitai::proofs {
namespace {

class Loader {
 public:
  Loader(const TileFactor& part, const Functions& functions, Report& to)
      : p(part.plan),
        along_outer(part.along_outer),
        outer(part.is_b ? p.cols : p.rows),
        f(functions),
        threads(f.tile_shape(p).threads),
        pitch(part.is_b ? f.tile_shape(p).pitch_b : f.tile_shape(p).pitch_a),
        l(f.loader_shape(p, 0, along_outer, outer)),
        report(to) {}

  void words() const {
    Scope s(report);
    const Int i = s.any<int>("inner", 0, p.inner), o = s.any<int>("outer", 0, outer);
    const z3::expr at = *f.staged_word(i, o, pitch);
    s.claim("words lie in the factor's buffer", at >= 0 && at < pitch * p.inner);
    s.claim("no word stands for two elements: they follow from it", at / pitch == *i && z3::mod(at, pitch) == *o);
  }
  void staged() const {
    Scope s(report);
    const Int t = s.any<int>("thread", 0, threads), turn = s.any<int>("turn", 0, l.turns);
    const Int e = s.any<int>("element", 0, l.vector), v = f.vector_of(turn, t, threads);
    s.assume(*v < l.vectors);
    const z3::expr i = *inner_of(v) + (along_outer ? s.number(0) : *e);
    const z3::expr o = *outer_of(v) + (along_outer ? *e : s.number(0));
    s.claim("what is staged lies in the tile", i >= 0 && i < p.inner && o >= 0 && o < outer);
    s.claim("and goes to its word", word(v, e) == *f.staged_word(s.symbol<int>(i), s.symbol<int>(o), pitch));
    const Bringer who = bringer(i, o);
    s.claim("no element is staged twice between two barriers: its thread follows from it",
            who.thread == *t && who.turn == *turn && who.element == *e);
    // What a turn reads: `rows` stored rows below the turn before, at the first turn's place in them.
    const Int first = f.vector_of(s.symbol<int>(s.number(0)), t, threads);
    s.claim("what is read is what is staged there",
            *stored_row(first) + *turn * l.rows == *stored_row(v) && *stored_col(first) == *stored_col(v));
    if (along_outer && l.vector >= 4)
      s.claim("words that are staged four at a time begin at a multiple of four",
              z3::mod(*f.staged_word(inner_of(v), outer_of(v), pitch), 4) == 0);
    s.claim_arithmetic("no index of a factor leaves its type");
  }
  void every() const {
    Scope s(report);
    const Int i = s.any<int>("inner", 0, p.inner), o = s.any<int>("outer", 0, outer);
    const Bringer who = bringer(*i, *o);
    const Int v = f.vector_of(s.symbol<int>(who.turn), s.symbol<int>(who.thread), threads);
    s.claim("every word that is read is staged",
            who.turn < l.turns && *v < l.vectors && word(v, s.symbol<int>(who.element)) == *f.staged_word(i, o, pitch));
  }
  // Global reads: `below` stored rows exist from the first turn's on.
  void reads() const {
    Scope s(report);
    const Long rows = s.any<i64>("stored_rows", 1, kMostElements), cols = s.any<i64>("stored_cols", 1, kMostElements);
    s.assume(z3::mod(*cols, l.vector) == 0);  // plan_tile.cpp: an access never leaves its row
    const Int t = s.any<int>("thread", 0, threads), turn = s.any<int>("turn", 0, l.turns);
    const Long tile = s.any<i64>("first_outer", 0, kMostElements), k = s.any<i64>("first_inner", 0, kMostElements);
    s.assume(z3::mod(*tile, outer) == 0 && *tile < (along_outer ? *cols : *rows));
    s.assume(z3::mod(*k, p.inner) == 0 && *k < (along_outer ? *rows : *cols));
    const Int v = f.vector_of(s.symbol<int>(s.number(0)), t, threads);
    const Long o = f.in_tile(tile, outer_of(v)), i = f.in_tile(k, inner_of(v));
    const Long row = f.stored_row(along_outer, o, i), col = f.stored_col(along_outer, o, i);
    s.claim("a vector lies in the stored row and column of its place",
            *row == (along_outer ? *i : *o) && *col == (along_outer ? *o : *i));
    const Long below = rows - row;
    const z3::expr left = z3::ite(*col < *cols, *f.at_most(below, outer + p.inner), s.number(0));
    const z3::expr read = *turn * l.rows < left, at = *row + *turn * l.rows;
    s.claim("guarded reads lie in the stored factor",
            z3::implies(read, at < *rows && *col + l.vector <= *cols && z3::mod(*col, l.vector) == 0));
    const Long stride = s.any<i64>("stride", 1, kMostCols);
    s.claim("a turn lies its stored rows below the last", *f.stored_step(stride, l.rows) == *stride * l.rows);
    s.claim("what exists of a tile is read", z3::implies(at < *rows && *col < *cols, read));
    s.claim_arithmetic("no index of a read leaves its type");
  }

 private:
  Int outer_of(const Int& v) const { return f.vector_outer(v, along_outer, l.across, l.vector); }
  Int inner_of(const Int& v) const { return f.vector_inner(v, along_outer, l.across, l.vector); }
  Int stored_row(const Int& v) const { return along_outer ? inner_of(v) : outer_of(v); }
  Int stored_col(const Int& v) const { return along_outer ? outer_of(v) : inner_of(v); }
  // The word that an element of a vector is staged in.
  z3::expr word(const Int& v, const Int& e) const {
    return *f.staged_word(inner_of(v), outer_of(v), pitch) + *f.staged_element(e, along_outer, pitch);
  }
  // Who should bring an element of the tile.
  struct Bringer {
    z3::expr thread, turn, element;
  };
  Bringer bringer(const z3::expr& i, const z3::expr& o) const {
    const z3::expr row = along_outer ? i : o, col = along_outer ? o : i, vector = row * l.across + col / l.vector;
    return {z3::mod(vector, threads), vector / threads, z3::mod(col, l.vector)};
  }

  const device::TilePlan& p;
  const bool along_outer;
  const int outer;
  const Functions& f;
  const int threads, pitch;
  const device::LoaderShape l;
  Report& report;
};

}  // namespace

void claim(const TileFactor& part, const Functions& f, Report& report) {
  const Loader loader(part, f, report);
  loader.words();
  loader.staged();
  loader.every();
  loader.reads();
}

namespace {

// Blocks whose stages come twice, as tile.h writes it: which inner indices a stage of a block has.
void claim_blocks(const TileChain& part, Report& report) {
  Scope s(report);
  const Long inner = s.any<i64>("inner_extent", 1, kMostElements), x = s.any<i64>("index", 0, kMostElements);
  const Long block = s.any<i64>("block", 0, kMostElements), other = s.any<i64>("block'", 0, kMostElements);
  const Long stage = s.any<i64>("stage", 0, part.block / part.inner);
  const Long next = s.any<i64>("stage'", 0, part.block / part.inner);
  const auto first = [&](const z3::expr& b, const z3::expr& t) { return b * part.block + t * part.inner; };
  s.claim("a stage lies in its block", first(*block, *stage) >= *block * part.block &&
                                           first(*block, *stage) + part.inner <= *block * part.block + part.block);
  s.claim("blocks come in ascending order, each of their stages once in a turn",
          (first(*block, *stage) < first(*other, *next)) == (*block < *other || (*block == *other && *stage < *next)));
  const z3::expr b = *x / part.block, t = z3::mod(*x, part.block) / part.inner;
  s.claim("every inner index lies in a stage of its block",
          z3::implies(*x < *inner, first(b, t) < *inner && first(b, t) <= *x && *x < first(b, t) + part.inner &&
                                       t < part.block / part.inner));
}

}  // namespace

// The loop over the inner index, as tile.h writes it.
void claim(const TileChain& part, const Functions& f, Report& report) {
  claim_places(f, report);
  if (part.block > 0) return claim_blocks(part, report);
  Scope s(report);
  const Long inner = s.any<i64>("inner_extent", 1, kMostElements);
  const Long turn = s.any<i64>("turn", 0, kMostElements), other = s.any<i64>("turn'", 0, kMostElements);
  const Long step = s.any<i64>("step", 0, part.inner), next = s.any<i64>("step'", 0, part.inner);
  const Long x = s.any<i64>("index", 0, kMostElements);
  const auto made = [&](const Long& t, const Long& i) {
    const z3::expr k = *t * part.inner;
    return k < *inner && z3::implies(k + part.inner >= *inner, *i < *inner - k);
  };
  const z3::expr a = *turn * part.inner + *step, b = *other * part.inner + *next;
  s.claim("inner indices come in ascending order, each once",
          z3::implies(made(turn, step) && made(other, next),
                      (a < b) == (*turn < *other || (*turn == *other && *step < *next))));
  s.claim("a turn goes on where the last one ended", *f.chain_next(x, part.inner) == *x + part.inner);
  s.claim("no inner index lies beyond the last", z3::implies(made(turn, step), a < *inner));
  const Long t = s.symbol<i64>(*x / part.inner), i = s.symbol<i64>(z3::mod(*x, part.inner));
  s.claim("every inner index comes", z3::implies(*x < *inner, made(t, i) && *t * part.inner + *i == *x));
}

}  // namespace tokitai::proofs

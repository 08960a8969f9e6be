// What is claimed about the tile pattern, over its own index functions. `Index` is TileIndex, the device's functions;
// the tests put broken ones in its place.
#pragma once
#include "machines/device/place_tile.h"
#include "proofs/guards.h"
#include "proofs/limits.h"
#include "proofs/scope.h"
#include "proofs/subject.h"

namespace tokitai::proofs {

struct TileIndex {
  static auto first_row(auto... a) { return device::tile_first_row(a...); }
  static auto first_col(auto... a) { return device::tile_first_col(a...); }
  static auto row(auto... a) { return device::tile_row(a...); }
  static auto col(auto... a) { return device::tile_col(a...); }
  static auto vector(auto... a) { return device::vector_of(a...); }
  static auto outer(auto... a) { return device::vector_outer(a...); }
  static auto inner(auto... a) { return device::vector_inner(a...); }
  static auto word(auto... a) { return device::staged_word(a...); }
  static auto count(auto left, int most) { return at_most(left, most); }
  static constexpr device::TileShape shape(const device::TilePlan& p) { return device::tile_shape(p); }
};

template <class Index> struct TileClaims {
  const TileSubject& subject;
  Report& report;
  const device::TilePlan& p = subject.plan;
  const device::TileShape shape = Index::shape(p);

  Symbol<int> thread(Scope& s, const std::string& which = "") const {
    return s.any<int>("thread" + which, 0, shape.threads);
  }
  Symbol<int> row(const Symbol<int>& thread, const Symbol<int>& i) const {
    return Index::row(thread, i, p.rows, p.thread_rows, shape.across);
  }
  Symbol<int> col(const Symbol<int>& thread, const Symbol<int>& j) const {
    return Index::col(thread, j, p.cols, p.thread_cols, shape.across);
  }

  // --- The outputs of a tile.
  void outputs_once() const {
    Scope s(report);
    const Symbol<int> t = thread(s), u = thread(s, "'");
    const Symbol<int> i = s.any<int>("i", 0, p.thread_rows), j = s.any<int>("j", 0, p.thread_cols);
    const Symbol<int> k = s.any<int>("i'", 0, p.thread_rows), l = s.any<int>("j'", 0, p.thread_cols);
    const Symbol<int> r = row(t, i), c = col(t, j), r2 = row(u, k), c2 = col(u, l);
    s.claim("outputs lie in the tile", *r >= 0 && *r < p.rows && *c >= 0 && *c < p.cols);
    s.claim("no output of a tile is written twice",
            z3::implies(*r == *r2 && *c == *c2, *t == *u && *i == *k && *j == *l));
    s.claim_arithmetic("no index of an output leaves its type");
  }
  void outputs_every() const {
    Scope s(report);
    const Symbol<int> r = s.any<int>("tile_row", 0, p.rows), c = s.any<int>("tile_col", 0, p.cols);
    // Who should own it: the tile is cut into bands of four rows (columns) per thread of a line.
    const int band = p.rows / (p.thread_rows / 4), strip = p.cols / (p.thread_cols / 4), wide = shape.across / 8;
    const z3::expr down = z3::mod(*r, band) / 4, beside = z3::mod(*c, strip) / 4;
    const z3::expr i = *r / band * 4 + z3::mod(*r, 4), j = *c / strip * 4 + z3::mod(*c, 4);
    const z3::expr t = (down / 4 * wide + beside / 8) * 32 + z3::mod(down, 4) * 8 + z3::mod(beside, 8);
    s.claim("every output of a tile is written",
            t >= 0 && t < shape.threads && i < p.thread_rows && j < p.thread_cols &&
                *row(s.symbol<int>(t), s.symbol<int>(i)) == *r && *col(s.symbol<int>(t), s.symbol<int>(j)) == *c);
  }
  // Four neighbouring outputs are stored at once, and four neighbouring words read at once.
  void neighbours() const {
    Scope s(report);
    const Symbol<int> t = thread(s), q = s.any<int>("q", 0, p.thread_cols / 4), e = s.any<int>("e", 0, 4);
    const Symbol<int> v = s.any<int>("v", 0, p.thread_rows / 4);
    const Symbol<int> first = col(t, 4 * q), above = row(t, 4 * v);
    s.claim("four columns of a thread are neighbours, from a multiple of four",
            *col(t, 4 * q + e) == *first + *e && z3::mod(*first, 4) == 0);
    s.claim("four rows of a thread are neighbours, from a multiple of four",
            *row(t, 4 * v + e) == *above + *e && z3::mod(*above, 4) == 0);
  }

  // --- The tiles of the output.
  struct Grid {
    Grid(Scope& s, const device::TilePlan& p)
        : rows(s.any<i64>("rows", 1, kMostElements)),
          cols(s.any<i64>("cols", 1, kMostElements)),
          across(device::pieces_of(cols, p.cols)),
          down(device::pieces_of(rows, p.rows)) {
      s.assume(*across * *down <= s.number(kMostBlocks));  // plan_tile.cpp refuses more
    }
    Symbol<i64> rows, cols, across, down;
  };
  void tiles() const {
    Scope s(report);
    const Grid g(s, p);
    const Symbol<int> block = s.any<int>("block", 0, kMostBlocks), other = s.any<int>("block'", 0, kMostBlocks);
    s.assume(*block < *g.across * *g.down && *other < *g.across * *g.down);
    const Symbol<i64> r = Index::first_row(block, g.across, p.rows), c = Index::first_col(block, g.across, p.cols);
    const Symbol<i64> r2 = Index::first_row(other, g.across, p.rows), c2 = Index::first_col(other, g.across, p.cols);
    s.claim("no two blocks have one tile", z3::implies(*r == *r2 && *c == *c2, *block == *other));
    s.claim("a tile begins inside the output",
            *r >= 0 && *c >= 0 && *c < *g.cols && z3::mod(*r, p.rows) == 0 && z3::mod(*c, p.cols) == 0);
    s.claim_arithmetic("no index of a tile leaves its type");
  }
  void tiles_every() const {
    Scope s(report);
    const Grid g(s, p);
    const Symbol<i64> r = s.any<i64>("row", 0, kMostElements), c = s.any<i64>("col", 0, kMostElements);
    s.assume(*r < *g.rows && *c < *g.cols);
    const Symbol<i64> down = s.any<i64>("tile_down", 0, kMostElements);
    const Symbol<i64> beside = s.any<i64>("tile_across", 0, kMostElements);
    s.assume(*down * p.rows <= *r && *r < *down * p.rows + p.rows);
    s.assume(*beside * p.cols <= *c && *c < *beside * p.cols + p.cols);
    s.lemma("the tile of an output lies in the grid of tiles", *down < *g.down && *beside < *g.across);
    s.lemma("and whole lines of tiles lie before it", (*down + 1) * *g.across <= *g.down * *g.across);
    const z3::expr block = *down * *g.across + *beside;
    s.lemma("so it is one of the launch", block >= 0 && block < *g.across * *g.down && block < s.number(kMostBlocks));
    const Symbol<int> b = s.symbol<int>(block);
    s.claim("every output lies in a tile", *Index::first_row(b, g.across, p.rows) == *down * p.rows &&
                                               *Index::first_col(b, g.across, p.cols) == *beside * p.cols);
  }
  void stores() const {
    Scope s(report);
    const Symbol<i64> cols = s.any<i64>("cols", 1, kMostElements), col = s.any<i64>("col", 0, kMostElements);
    const Symbol<int> e = s.any<int>("e", 0, 4);
    s.assume(z3::mod(*col, 4) == 0);
    const Symbol<i64> left = cols - col;
    const z3::expr inside = *left > 0;
    if (subject.out_vector >= 4) {
      s.assume(z3::mod(*cols, 4) == 0);  // plan_tile.cpp: an access never leaves its row
      s.claim("outputs are stored inside their row", z3::implies(inside, *col + *e < *cols));
    } else {
      s.claim("outputs are stored inside their row",
              z3::implies(inside && *e < *Index::count(left, 4), *col + *e < *cols));
      s.claim("every output of four is stored", z3::implies(*col + *e < *cols, *e < *Index::count(left, 4)));
    }
  }

  // --- The factors.
  void factor(const char* name, const Factor& f, int outer, int pitch) const {
    const device::LoaderShape l = device::loader_shape(p, f.operand, f.along_outer, outer);
    const auto claim = [&](const char* what) { return std::string(name) + ": " + what; };
    const auto outer_of = [&](const Symbol<int>& v) { return Index::outer(v, f.along_outer, l.across, l.vector); };
    const auto inner_of = [&](const Symbol<int>& v) { return Index::inner(v, f.along_outer, l.across, l.vector); };
    // The word that an element of a vector is staged in, and the element of the tile that it is.
    const auto word = [&](const Symbol<int>& v, const Symbol<int>& e) {
      return *Index::word(inner_of(v), outer_of(v), pitch) + *e * (f.along_outer ? 1 : pitch);
    };
    const auto inner_at = [&](const Symbol<int>& v, const Symbol<int>& e) {
      return f.along_outer ? *inner_of(v) : *inner_of(v) + *e;
    };
    const auto outer_at = [&](const Symbol<int>& v, const Symbol<int>& e) {
      return f.along_outer ? *outer_of(v) + *e : *outer_of(v);
    };
    {
      Scope s(report);
      const Symbol<int> i = s.any<int>("inner", 0, p.inner), o = s.any<int>("outer", 0, outer);
      const Symbol<int> k = s.any<int>("inner'", 0, p.inner), q = s.any<int>("outer'", 0, outer);
      const z3::expr at = *Index::word(i, o, pitch);
      s.claim(claim("words lie in the factor's buffer"), at >= 0 && at < pitch * p.inner);
      s.claim(claim("no word stands for two elements"),
              z3::implies(at == *Index::word(k, q, pitch), *i == *k && *o == *q));
    }
    {
      Scope s(report);
      const Symbol<int> t = thread(s), u = thread(s, "'");
      const Symbol<int> turn = s.any<int>("turn", 0, l.turns), other = s.any<int>("turn'", 0, l.turns);
      const Symbol<int> e = s.any<int>("element", 0, l.vector), d = s.any<int>("element'", 0, l.vector);
      const Symbol<int> v = Index::vector(turn, t, shape.threads), w = Index::vector(other, u, shape.threads);
      s.assume(*v < l.vectors && *w < l.vectors);
      const z3::expr i = inner_at(v, e), o = outer_at(v, e);
      s.claim(claim("what is staged lies in the tile"), i >= 0 && i < p.inner && o >= 0 && o < outer);
      s.claim(claim("and goes to its word"), word(v, e) == *Index::word(s.symbol<int>(i), s.symbol<int>(o), pitch));
      s.claim(claim("no element is staged twice between two barriers"),
              z3::implies(i == inner_at(w, d) && o == outer_at(w, d), *t == *u && *turn == *other && *e == *d));
      // What a turn reads: `rows` stored rows below the turn before, at the first turn's place in them.
      const Symbol<int> first = Index::vector(s.symbol<int>(s.number(0)), t, shape.threads);
      const z3::expr stored_row = (f.along_outer ? *inner_of(first) : *outer_of(first)) + *turn * l.rows;
      const z3::expr stored_col = f.along_outer ? *outer_of(first) : *inner_of(first);
      s.claim(claim("what is read is what is staged there"),
              stored_row == (f.along_outer ? *inner_of(v) : *outer_of(v)) &&
                  stored_col == (f.along_outer ? *outer_of(v) : *inner_of(v)));
      s.claim_arithmetic(claim("no index leaves its type"));
    }
    {
      Scope s(report);
      const Symbol<int> i = s.any<int>("inner", 0, p.inner), o = s.any<int>("outer", 0, outer);
      const z3::expr row = f.along_outer ? *i : *o, col = f.along_outer ? *o : *i;
      const z3::expr vector = row * l.across + col / l.vector;
      const Symbol<int> turn = s.symbol<int>(vector / shape.threads);
      const Symbol<int> t = s.symbol<int>(z3::mod(vector, shape.threads));
      const Symbol<int> v = Index::vector(turn, t, shape.threads), e = s.symbol<int>(z3::mod(col, l.vector));
      s.claim(claim("every word that is read is staged"),
              *turn < l.turns && *v < l.vectors && word(v, e) == *Index::word(i, o, pitch));
    }
    reads(claim("guarded reads lie in the stored factor"), f, outer, l);
  }
  // Global reads of a factor: `below` stored rows exist from the first turn's on.
  void reads(const std::string& name, const Factor& f, int outer, const device::LoaderShape& l) const {
    Scope s(report);
    const Symbol<i64> rows = s.any<i64>("stored_rows", 1, kMostElements);
    const Symbol<i64> cols = s.any<i64>("stored_cols", 1, kMostElements);
    s.assume(z3::mod(*cols, l.vector) == 0);  // plan_tile.cpp: an access never leaves its row
    const Symbol<int> t = thread(s), turn = s.any<int>("turn", 0, l.turns);
    const Symbol<i64> tile = s.any<i64>("first_outer", 0, kMostElements),
                      k = s.any<i64>("first_inner", 0, kMostElements);
    s.assume(z3::mod(*tile, outer) == 0 && *tile < (f.along_outer ? *cols : *rows));
    s.assume(z3::mod(*k, p.inner) == 0 && *k < (f.along_outer ? *rows : *cols));
    const Symbol<int> v = Index::vector(s.symbol<int>(s.number(0)), t, shape.threads);
    const Symbol<i64> o = tile + Index::outer(v, f.along_outer, l.across, l.vector);
    const Symbol<i64> i = k + Index::inner(v, f.along_outer, l.across, l.vector);
    const Symbol<i64> row = f.along_outer ? i : o, col = f.along_outer ? o : i;
    const Symbol<i64> below = rows - row;
    const z3::expr left = z3::ite(*col < *cols, *Index::count(below, outer + p.inner), s.number(0));
    const z3::expr read = *turn * l.rows < left;
    s.claim(name, z3::implies(
                      read, *row + *turn * l.rows < *rows && *col + l.vector <= *cols && z3::mod(*col, l.vector) == 0));
    // What exists is read: the tile's stored rows and columns that the matrix has.
    s.claim(name + ", and all of them are made", z3::implies(*row + *turn * l.rows < *rows && *col < *cols, read));
    s.claim_arithmetic(name + ", in their types");
  }

  // --- Shared memory and the chain.
  void memory() const {
    Scope s(report);
    const Symbol<int> t = thread(s), step = s.any<int>("inner", 0, p.inner), turn = s.any<int>("turn", 0, 2);
    const Symbol<int> i = s.any<int>("i", 0, p.thread_rows), j = s.any<int>("j", 0, p.thread_cols);
    const z3::expr a = *Index::word(step, row(t, i), shape.pitch_a), b = *Index::word(step, col(t, j), shape.pitch_b);
    const int behind = shape.pitch_a * p.inner;
    s.claim("factors are read inside their buffers",
            a >= 0 && a < behind && b >= 0 && behind + b < shape.buffer && z3::mod(s.number(shape.pitch_a), 4) == 0 &&
                z3::mod(s.number(shape.pitch_b), 4) == 0 && z3::mod(s.number(behind), 4) == 0);
    const Symbol<i64> chain = s.any<i64>("turn_of_chain", 0, kMostElements);
    const Symbol<int> x = s.any<int>("word", 0, shape.buffer), y = s.any<int>("word'", 0, shape.buffer);
    const z3::expr stage = z3::mod(*chain, 2), next = z3::mod(*chain + 1, 2);
    s.claim("a stage is not filled while the other is read", stage * shape.buffer + *x != next * shape.buffer + *y);
    s.claim("both stages lie in the shared memory that is asked for",
            (*turn * shape.buffer + *x + 1) * 4 <= subject.shared_bytes);
  }
  void chain() const {
    Scope s(report);
    const Symbol<i64> inner = s.any<i64>("inner_extent", 1, kMostElements);
    const Symbol<i64> turn = s.any<i64>("turn", 0, kMostElements), other = s.any<i64>("turn'", 0, kMostElements);
    const Symbol<i64> step = s.any<i64>("step", 0, p.inner), next = s.any<i64>("step'", 0, p.inner);
    const Symbol<i64> x = s.any<i64>("index", 0, kMostElements);
    const auto made = [&](const Symbol<i64>& t, const Symbol<i64>& i) {
      const z3::expr k = *t * p.inner;
      return k < *inner && z3::implies(k + p.inner >= *inner, *i < *inner - k);
    };
    const z3::expr a = *turn * p.inner + *step, b = *other * p.inner + *next;
    s.claim("inner indices come in ascending order, each once",
            z3::implies(made(turn, step) && made(other, next),
                        (a < b) == (*turn < *other || (*turn == *other && *step < *next))));
    s.claim("no inner index lies beyond the last", z3::implies(made(turn, step), a < *inner));
    const Symbol<i64> t = s.symbol<i64>(*x / p.inner), i = s.symbol<i64>(z3::mod(*x, p.inner));
    s.claim("every inner index comes", z3::implies(*x < *inner, made(t, i) && *t * p.inner + *i == *x));
  }
  void all() const {
    outputs_once();
    outputs_every();
    neighbours();
    tiles();
    tiles_every();
    stores();
    factor("factor a", subject.a, p.rows, shape.pitch_a);
    factor("factor b", subject.b, p.cols, shape.pitch_b);
    memory();
    chain();
  }
};

}  // namespace tokitai::proofs

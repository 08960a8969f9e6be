// Products of integers where waves multiply bytes by themselves: how both factors' lines come into shared memory, which
// pieces of them a lane fetches, and which outputs it has. That nothing is done twice is claimed by naming who does it.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

constexpr int kThreads = device::kFragmentThreads, kPieces = device::kLinePieces, kRows = device::kTileRows;

class Stages {
 public:
  Stages(const FragmentStages& part, const Functions& functions, Report& to)
      : p(part), lines(kRows + part.cols), f(functions), report(to) {}

  void regions() const {
    Scope s(report);
    const device::FragmentPlan plan{0, Fragment::mma, p.cols, p.stages, 0, 0};
    s.claim("pieces and scales of all stages lie in what is asked for, one behind the other",
            s.number(f.pieces_byte()) == 0 &&
                s.number(f.line_scales_byte(plan)) >= 2 * p.stages * lines * device::kWideBytes &&
                s.number(f.line_scales_byte(plan) + 4 * p.stages * lines) <= p.shared_bytes &&
                s.number(f.line_scales_byte(plan) % 4) == 0);
  }
  // Eight threads bring a line, all of them so many of one factor and one plane in a turn.
  void brought() const {
    const int at_once = kThreads / kPieces, turns = 2 * lines / at_once;
    Scope s(report);
    const Int turn = s.any<int>("turn", 0, turns), thread = s.any<int>("thread", 0, kThreads);
    const Int first = f.turn_line(turn, lines), line = f.brought_line(first, thread);
    const z3::expr plane = *f.turn_plane(turn, lines), piece = *f.brought_piece(thread), all = plane * lines + *line;
    s.claim("a turn's lines are one factor's", *first >= 0 && (*first < kRows) == (*line < kRows) && *line < lines);
    s.claim("no piece is brought twice: turn and thread follow from it",
            plane >= 0 && plane < 2 && piece >= 0 && piece < kPieces && all / at_once == *turn &&
                z3::mod(all, at_once) * kPieces + piece == *thread);
    Scope t(report);
    const z3::expr half = *t.any<int>("plane", 0, 2), l = *t.any<int>("line", 0, lines);
    const z3::expr x = *t.any<int>("piece", 0, kPieces), number = half * lines + l;
    const Int its = t.symbol<int>(number / at_once), who = t.symbol<int>(z3::mod(number, at_once) * kPieces + x);
    t.claim("every piece of both planes is brought",
            *its < turns && *who < kThreads && *f.turn_plane(its, lines) == half &&
                *f.brought_line(f.turn_line(its, lines), who) == l && *f.brought_piece(who) == x);
    const Int right = t.any<int>("line of the right factor", 0, p.cols), staged = f.line_on_right(right);
    t.claim("the right factor's lines lie behind the left one's",
            *staged >= kRows && *staged < lines && *f.line_behind_left(staged) == *right);
    const Int scaled = t.any<int>("thread", 0, lines);
    t.claim("every line's scale has a thread of its own",
            *f.scaled_line(scaled) == *scaled && t.number(lines) <= kThreads);
    t.claim_arithmetic("no number of a line leaves its type");
  }
  // Where a piece lies in memory is where packing has put it.
  void packed() const {
    for (int plane = 0; plane < 2; ++plane) {
      Scope s(report);
      const Int extent = s.any<int>("lines", 1, kMostExtent + 1), tile = s.any<int>("corner", 0, kMostExtent);
      const Int in_tile = s.any<int>("line of the tile", 0, lines);
      s.assume(*tile < *extent);
      const Int line = f.fetched_line(tile, in_tile, extent);
      s.lemma("a line that is fetched exists, and is the one that is wanted where that does",
              *line >= 0 && *line < *extent && z3::implies(*tile + *in_tile < *extent, *line == *tile + *in_tile));
      const Int blocks = s.any<int>("blocks", 1, kMostExtent / 128 + 2),
                block = s.any<int>("block", 0, kMostExtent / 128 + 1);
      const Int piece = s.any<int>("piece", 0, kPieces);
      const Long before = s.any<i64>("bytes before / 16", 0, i64{1} << 57) * 16;
      const Long all = s.symbol<i64>(*extent), padded = s.symbol<i64>(128 * *blocks);
      s.assume(*block < *blocks && *extent * *blocks <= s.number(i64{1} << 41));
      s.assume(in_order(*line, *extent, *blocks, *line * *blocks, *extent * *blocks));
      const Int half(s.ledger(), s.number(plane)), pieces = s.symbol<int>(8 * *blocks);
      const z3::expr place = *f.plane_begin(before, half, all, padded) + *f.packed_piece(line, block, piece, pieces);
      s.claim("a piece is fetched from where packing has put it",
              16 * place == *before + (plane * *extent + *line) * (128 * *blocks) + *block * 128 + *piece * 16);
      s.claim("and lies in its plane", 16 * place >= *before + plane * *extent * (128 * *blocks) &&
                                           16 * place + 16 <= *before + (plane + 1) * *extent * (128 * *blocks));
      s.claim_arithmetic("no place of a packed piece leaves its type");
    }
    Scope t(report);
    const Int line = t.any<int>("line", 0, kMostExtent), block = t.any<int>("block", 0, kMostExtent / 128 + 1);
    const Int padded = t.any<int>("padded lines / 64", 1, kMostExtent / 64 + 2) * 64;
    const Long row = t.symbol<i64>(*block), at = t.symbol<i64>(*line), size = t.symbol<i64>(*padded);
    t.claim("a scale is fetched from where packing has put it",
            *f.fetched_scale(block, line, padded) == *f.packed_scale(row, at, size));
    t.claim_arithmetic("no place of a scale leaves its type");
  }
  // In shared memory; the crossing goes by the last three bits of a line.
  void staged() const {
    for (int bits = 0; bits < 8; ++bits) {
      Scope s(report);
      const Int stage = s.any<int>("stage", 0, p.stages), plane = s.any<int>("plane", 0, 2);
      const Int line = s.any<int>("line / 8", 0, lines / 8) * 8 + bits, piece = s.any<int>("piece", 0, kPieces);
      const Int none(s.ledger(), s.number(0)), behind = s.any<int>("lines behind / 8", 0, lines / 8) * 8;
      const z3::expr place = *f.staged_piece(stage, plane, line, piece, lines);
      s.claim("a staged piece lies in its line, in its stage",
              place / kPieces == (*stage * 2 + *plane) * lines + *line && place >= 0 &&
                  16 * place + 16 <= 2 * p.stages * lines * device::kWideBytes);
      z3::expr back = s.number(0);
      for (const int bit : {1, 2, 4}) back = back + z3::mod(z3::mod(place, 8) / bit + bits / bit, 2) * bit;
      s.claim("no two pieces have one place: the piece follows from it", back == *piece);
      s.assume(*line + *behind < lines);
      s.claim("a piece of the same number so many lines behind lies so many pieces behind",
              *f.staged_piece(stage, none, line, piece, lines) + *f.pieces_behind(plane, behind, lines) ==
                  *f.staged_piece(stage, plane, line + behind, piece, lines));
      const z3::expr scale = *f.staged_scale(stage, line, lines);
      s.claim("a staged line has a scale of its own",
              scale >= 0 && scale < p.stages * lines && scale / lines == *stage && z3::mod(scale, lines) == *line);
      s.claim_arithmetic("no place of a staged line leaves its type");
    }
  }
  void all() const {
    regions();
    brought();
    packed();
    staged();
  }

 private:
  const FragmentStages& p;
  const int lines;
  const Functions& f;
  Report& report;
};

class Waves {
 public:
  Waves(const FragmentWaves& part, const Functions& functions, Report& to)
      : p(part),
        shape(device::fragment_shape(part.fragment)),
        tile(device::fragment_tile({0, part.fragment, part.cols, 1, 0, 0})),
        f(functions),
        report(to) {}

  // A wave's part of the tile.
  void waves() const {
    Scope s(report);
    const Int thread = s.any<int>("thread", 0, kThreads), wave = f.wave_of(thread, p.fragment);
    const z3::expr lane = *f.lane_in_wave(thread, p.fragment);
    s.claim("a thread has one wave and lane", *wave >= 0 && *wave < kThreads / shape.lanes && lane >= 0 &&
                                                  lane < shape.lanes && *wave * shape.lanes + lane == *thread);
    const z3::expr row = *f.wave_row(wave, tile.across, tile.wave_rows);
    const z3::expr col = *f.wave_col(wave, tile.across, tile.wave_cols);
    s.claim("no two waves have one part of the tile: the wave follows from its corner",
            row / tile.wave_rows * tile.across + col / tile.wave_cols == *wave && z3::mod(row, tile.wave_rows) == 0 &&
                z3::mod(col, tile.wave_cols) == 0 && row + tile.wave_rows <= kRows && col + tile.wave_cols <= p.cols);
    s.claim("the waves' parts are the whole tile",
            s.number(kThreads / shape.lanes * tile.wave_rows * tile.wave_cols) == kRows * p.cols &&
                s.number(tile.wave_rows % shape.rows + tile.wave_cols % shape.cols) == 0);
    const int halves = p.cols > 64 ? 2 : 1, side = tile.wave_cols / halves, beside = side / shape.cols;
    const Int half = s.any<int>("half", 0, halves), n = s.any<int>("fragment", 0, beside);
    const Int at = s.any<int>("line of a fragment", 0, shape.cols), first = s.symbol<int>(col);
    const z3::expr begin = *f.half_begin(half, side), inside = *f.fragment_line(n, shape.cols, at);
    s.claim("every column of a wave lies in one fragment of one half",
            begin == *half * side && inside == *n * shape.cols + *at &&
                *f.fragment_begin(n, shape.cols) == inside - *at && s.number(side * halves) == tile.wave_cols &&
                s.number(beside * shape.cols) == side);
    s.claim("a line of a wave lies behind its first", *f.wave_line(first, at) == col + *at);
    s.claim_arithmetic("no number of a wave leaves its type");
  }
  void sums() const {
    const int count = shape.sum_rows * shape.run;
    const auto part_of = [&](const z3::expr& col) {
      return shape.run_step == 1 ? col / shape.col_step : z3::mod(col, shape.run_step);
    };
    const auto in_run = [&](const z3::expr& col) {
      return shape.run_step == 1 ? z3::mod(col, shape.run) : col / shape.run_step;
    };
    Scope s(report);
    const Int lane = s.any<int>("lane", 0, shape.lanes), i = s.any<int>("i", 0, count);
    const z3::expr row = *f.fragment_row(lane, i, p.fragment), col = *f.fragment_col(lane, i, p.fragment);
    s.claim("outputs lie in their fragment", row >= 0 && row < shape.rows && col >= 0 && col < shape.cols);
    s.claim("no output has two owners: its lane and number follow from it",
            z3::mod(row, shape.row_of) * shape.row_by + part_of(col) * shape.col_by == *lane &&
                row / shape.row_of * shape.run + in_run(col) == *i);
    const int run = device::run_of(p.fragment);
    const Int e = s.any<int>("e", 0, run);
    s.assume(z3::mod(*i, run) == 0);
    s.claim("a run's outputs are neighbours of one row", *f.fragment_row(lane, i + e, p.fragment) == row &&
                                                             *f.fragment_col(lane, i + e, p.fragment) == col + *e &&
                                                             z3::mod(col, run) == 0);
    Scope t(report);
    const z3::expr r = *t.any<int>("row", 0, shape.rows), c = *t.any<int>("column", 0, shape.cols);
    const Int its = t.symbol<int>(z3::mod(r, shape.row_of) * shape.row_by + part_of(c) * shape.col_by);
    const Int number = t.symbol<int>(r / shape.row_of * shape.run + in_run(c));
    t.claim("every output of a fragment has an owner", *its < shape.lanes && *number < count &&
                                                           *f.fragment_row(its, number, p.fragment) == r &&
                                                           *f.fragment_col(its, number, p.fragment) == c);
    s.claim_arithmetic("no index of an output leaves its type");
  }
  // The pieces of a factor's lines, of `lines` of a fragment.
  template <class Line, class Piece>
  void pieces(const device::FragmentSide& side, int lines, Line line_of, Piece piece_of) const {
    const int step_pieces = device::step_pieces(p.fragment), steps = kPieces / step_pieces;
    const int turns = step_pieces / side.parts;
    Scope s(report);
    const Int lane = s.any<int>("lane", 0, shape.lanes), i = s.any<int>("i", 0, side.lines);
    const Int step = s.any<int>("step", 0, steps), turn = s.any<int>("turn", 0, turns);
    const z3::expr line = *line_of(lane, i), piece = *piece_of(lane, step, turn);
    s.claim("a lane fetches lines of its fragment, and pieces of its step",
            line >= 0 && line < lines && piece / step_pieces == *step && piece < kPieces);
    s.claim("no piece is multiplied twice: line, step and turn follow from it",
            line / side.of == *i && z3::mod(piece, step_pieces) / side.parts == *turn);
    Scope t(report);
    const z3::expr l = *t.any<int>("line", 0, lines), x = *t.any<int>("piece", 0, kPieces);
    const Int who = t.symbol<int>(z3::mod(l, side.of) * side.by + z3::mod(x, side.parts) * side.part_by);
    const Int number = t.symbol<int>(l / side.of);
    const Int its_step = t.symbol<int>(x / step_pieces), its_turn = t.symbol<int>(z3::mod(x, step_pieces) / side.parts);
    t.claim("every piece of every line is multiplied",
            *who < shape.lanes && *number < side.lines && *its_step < steps && *its_turn < turns &&
                *line_of(who, number) == l && *piece_of(who, its_step, its_turn) == x);
    s.claim_arithmetic("no number of a fetched piece leaves its type");
  }
  // What an instruction multiplies of both factors is of the same contracted index.
  void together() const {
    Scope s(report);
    const Int none(s.ledger(), s.number(0)), step = s.any<int>("step", 0, kPieces / device::step_pieces(p.fragment));
    const Int lane = s.any<int>("lane", 0, shape.lanes);
    const int turns = device::left_turns(p.fragment);
    if (turns == 1) {
      s.claim("a lane fetches the same piece of both factors' lines",
              *f.left_piece(lane, step, none, p.fragment) == *f.right_piece(lane, step, none, p.fragment));
    } else {
      const Int turn = s.any<int>("turn", 0, turns);
      s.claim("the left factor's pieces of a turn are those of its instruction",
              z3::mod(*f.left_piece(lane, step, turn, p.fragment), device::step_pieces(p.fragment)) /
                      (device::step_pieces(p.fragment) / shape.instructions) ==
                  *turn);
    }
  }
  void all() const {
    waves();
    sums();
    pieces(
        shape.left, shape.rows, [&](const Int& lane, const Int& i) { return f.left_line(lane, i, p.fragment); },
        [&](const Int& lane, const Int& step, const Int& turn) { return f.left_piece(lane, step, turn, p.fragment); });
    pieces(
        shape.right, shape.cols, [&](const Int& lane, const Int& i) { return f.right_line(lane, i, p.fragment); },
        [&](const Int& lane, const Int& step, const Int& turn) { return f.right_piece(lane, step, turn, p.fragment); });
    together();
  }

 private:
  const FragmentWaves& p;
  const device::FragmentShape shape;
  const device::FragmentTile tile;
  const Functions& f;
  Report& report;
};

}  // namespace

void claim(const FragmentStages& part, const Functions& f, Report& report) { Stages(part, f, report).all(); }
void claim(const FragmentWaves& part, const Functions& f, Report& report) { Waves(part, f, report).all(); }

}  // namespace tokitai::proofs

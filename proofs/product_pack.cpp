// What is packed before a product on tensor cores: who packs which elements of a factor. That nothing is done twice is
// claimed by naming who does it.
#include <limits>

#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

class Pack {
 public:
  Pack(const PackedFactor& part, const Functions& functions, Report& to) : p(part), f(functions), report(to) {}

  // What a GPU divides as ints.
  void numbers(Scope& s, const Long& task, const Long& across) const {
    const z3::expr most = s.number(std::numeric_limits<int>::max());
    s.claim("a task's number and how many lie across are ints",
            *task >= 0 && *task <= most && *across > 0 && *across <= most);
    s.claim("a task's quotient and remainder are those of its number",
            *f.quotient(task, across) == *task / *across && *f.remainder(task, across) == z3::mod(*task, *across));
  }
  // A pass along the contracted index.
  void along() const {
    const int deep = p.element_bytes == 4 ? 2 : 4;
    const auto counts = [&](const Long& inner) { return device::pieces_of(device::pieces_of(inner, 128), deep); };
    Scope s(report);
    const Sizes size(s, "");
    const Long across = counts(size.inner), task = s.any<i64>("task", 0, kMostBlocks);
    const Int thread = s.any<int>("thread", 0, device::kPackThreads), d = s.any<int>("d", 0, deep);
    s.assume(*task < *f.passes_along(size.lines, size.inner, deep));
    numbers(s, task, across);
    const z3::expr band = *(task / across), lines = *f.padded_lines(size.lines);
    s.assume(in_order(band, lines / 16, *across, band * *across, lines / 16 * *across));
    const Long line = f.pass_line(task, across, thread), block = f.pass_block(task, across, d, deep);
    const Long inner = f.pass_inner(block, thread);
    s.claim("a task's lines are padded ones", *line >= 0 && *line < lines);
    s.claim("no element is packed twice: task, thread and turn follow from its line and index",
            *line / 16 == band && band * *across + *block / deep == *task && z3::mod(*block, deep) == *d &&
                *inner / 128 == *block && z3::mod(*line, 16) * 16 + z3::mod(*inner, 128) / 8 == *thread &&
                z3::mod(*inner, 8) == 0);
    s.claim_arithmetic("no index of a pass leaves its type");

    Scope t(report);
    const Sizes all(t, "");
    const Long beside = counts(all.inner), l = t.any<i64>("line", 0, kMostExtent),
               x = t.any<i64>("index", 0, kMostExtent);
    t.assume(*l < *f.padded_lines(all.lines) && *x < *f.padded_inner(all.inner));
    const z3::expr its = *x / 128, far = *l / 16, above = far * *beside, end = *f.padded_lines(all.lines) / 16;
    t.assume(in_order(far, end, *beside, above, end * *beside));
    const Long number = t.symbol<i64>(above + its / deep);
    t.lemma("the task of a line and an index is one of the launch",
            *number >= 0 && *number < *f.passes_along(all.lines, all.inner, deep));
    const z3::expr other = *(number / beside);
    t.assume(in_order(other, far, *beside, other * *beside, above));
    const Int who = t.symbol<int>(z3::mod(*l, 16) * 16 + z3::mod(*x, 128) / 8),
              turn = t.symbol<int>(z3::mod(its, deep));
    const Long its_block = f.pass_block(number, beside, turn, deep);
    t.claim("every element is packed, padded ones too", *f.pass_line(number, beside, who) == *l && *its_block == its &&
                                                            *f.pass_inner(its_block, who) == *x / 8 * 8 &&
                                                            *its_block < *device::pieces_of(all.inner, 128));
  }
  // A pass across it.
  void across() const {
    Scope s(report);
    const Sizes size(s, "");
    const Long beside = device::pieces_of(size.lines, 64), task = s.any<i64>("task", 0, kMostBlocks);
    const Int thread = s.any<int>("thread", 0, device::kPackThreads), i = s.any<int>("i", 0, 4);
    s.assume(*task < *f.passes_across(size.lines, size.inner));
    numbers(s, task, beside);
    const Long block = f.turned_block(task, beside), first = f.turned_line(task, beside);
    const z3::expr blocks = *device::packed_parts(size.inner, 128);
    s.assume(in_order(*block, blocks, *beside, *block * *beside, blocks * *beside));
    s.claim("a task's block exists, and its lines are padded ones",
            *block >= 0 && *block < blocks && *first >= 0 && *first + 64 <= *f.padded_lines(size.lines));
    const Int eight = f.eight_of(thread), four = f.four_of(thread);
    const Long k = f.turned_inner(block, four, i), line = f.turned_lines(first, eight);
    s.claim("no element is read twice: task, thread and turn follow from its line and index",
            *k / 128 == *block && *block * *beside + *line / 64 == *task &&
                z3::mod(*k, 128) / 4 * 8 + z3::mod(*line, 64) / 8 == *thread && z3::mod(*k, 4) == *i &&
                z3::mod(*line, 8) == 0);
    const Int in_tile = s.any<int>("line of the task", 0, 64), j = s.any<int>("j", 0, 8);
    s.claim("lines of a task lie behind its first", *f.line_behind(first, in_tile) == *first + *in_tile &&
                                                        *f.line_behind(first, f.line_of_eight(eight, j)) == *line + *j);
    s.claim(
        "a piece of a line is 16 bytes of its block",
        *f.inner_piece(block, eight) == *block * 128 + *f.first_four(eight) * 4 && *f.first_four(eight) == *eight * 4);
    s.claim_arithmetic("no index of a pass leaves its type");

    Scope t(report);
    const Sizes all(t, "");
    const Long tiles = device::pieces_of(all.lines, 64), l = t.any<i64>("line", 0, kMostExtent);
    const Long x = t.any<i64>("index", 0, kMostExtent);
    t.assume(*l < *f.padded_lines(all.lines) && *x < *f.padded_inner(all.inner));
    const z3::expr its = *x / 128, above = its * *tiles, end = *device::packed_parts(all.inner, 128);
    t.assume(in_order(its, end, *tiles, above, end * *tiles));
    const Long number = t.symbol<i64>(above + *l / 64);
    t.lemma("the task of a line and an index is one of the launch",
            *number >= 0 && *number < *f.passes_across(all.lines, all.inner));
    const z3::expr other = *(number / tiles);
    t.assume(in_order(other, its, *tiles, other * *tiles, above));
    const Int who = t.symbol<int>(z3::mod(*x, 128) / 4 * 8 + z3::mod(*l, 64) / 8), turn = t.symbol<int>(z3::mod(*x, 4));
    t.claim("every element is packed, padded ones too",
            *f.turned_inner(f.turned_block(number, tiles), f.four_of(who), turn) == *x &&
                *f.turned_lines(f.turned_line(number, tiles), f.eight_of(who)) == *l / 8 * 8);
  }
  // Shared memory of such a pass.
  void turned() const {
    Scope s(report);
    const Int thread = s.any<int>("thread", 0, device::kPackThreads);
    const Int plane = s.any<int>("plane", 0, 2), eight = f.eight_of(thread), four = f.four_of(thread);
    s.claim("a thread has eight lines and four indices of a task",
            *eight >= 0 && *eight < 8 && *four >= 0 && *four < 32 && *four * 8 + *eight == *thread);
    const Int any = s.any<int>("line", 0, 64);
    const Int turn = s.any<int>("turn", 0, 4);
    const z3::expr to = *f.written_line(turn, four), half = *f.written_plane(turn, four);
    s.claim("no line is written twice: turn and thread follow from line and plane",
            to >= 0 && to < 64 && half >= 0 && half < 2 && (half * 64 + to) / 32 == *turn &&
                z3::mod(half * 64 + to, 32) == *four);
    s.claim("every line of both planes is written",
            *f.written_line(s.symbol<int>((*plane * 64 + *any) / 32), s.symbol<int>(z3::mod(*any, 32))) == *any &&
                *f.written_plane(s.symbol<int>((*plane * 64 + *any) / 32), s.symbol<int>(z3::mod(*any, 32))) == *plane);
    s.claim_arithmetic("no number of a turned line leaves its type");
  }
  // Words of 16 bytes are crossed by their line's eight.
  void turned_words() const {
    for (int eight = 0; eight < 8; ++eight) {
      Scope s(report);
      const Int four = s.any<int>("four", 0, 32), plane = s.any<int>("plane", 0, 2), j = s.any<int>("j", 0, 8);
      const Int line = f.line_of_eight(s.any<int>("eight", eight, eight + 1), j);
      const z3::expr word = *f.turned_word(plane, line, four), piece = z3::mod(word, 32) / 4;
      s.claim("turned words lie in their region, in their line's row",
              word >= 0 && word < device::kTurnedWords && *line == eight * 8 + *j && word / 32 == *plane * 64 + *line);
      z3::expr back = s.number(0);
      for (const int bit : {1, 2, 4}) back = back + z3::mod(piece / bit + eight / bit, 2) * bit;
      s.claim("no turned word is written twice: its thread follows from its place",
              back * 4 + z3::mod(word, 4) == *four);
      const Int first = f.first_four(s.symbol<int>(*four / 4)), e = s.symbol<int>(z3::mod(*four, 4));
      const z3::expr begin = *f.turned_word(plane, line, first);
      s.claim("four words are read as they were written, from a multiple of four",
              z3::mod(begin, 4) == 0 && begin + *e == word);
      s.claim_arithmetic("no place of a turned word leaves its type");
    }
  }
  void largest() const {
    Scope s(report);
    const int words = p.element_bytes == 4 ? 8 : 4, per = 8 / words;
    const Int thread = s.any<int>("thread", 0, 64), group = s.any<int>("group", 0, 8);
    const Int eight = s.any<int>("eight", 0, 8), w = s.any<int>("word", 0, words), j = s.any<int>("j", 0, 8);
    const Int word = f.word_of_eight(eight, w, words);
    const z3::expr place = *f.largest_place(group, word);
    s.claim("a largest magnitude belongs to one group and word: they follow from its place",
            place >= 0 && place < 8 * 64 && place / 64 == *group && z3::mod(place, 64) / words == *eight &&
                z3::mod(*word, words) == *w);
    const Int mine = f.line_of_thread(thread);
    s.claim("a line's largest is looked for where its threads put it",
            *mine == *thread && *f.word_of_line(f.line_of_eight(eight, j), per) ==
                                    *f.word_of_eight(eight, s.symbol<int>(*j / per), words));
    s.claim("the regions of shared memory lie one behind the other, in what is asked for",
            s.number(f.turned_byte()) == 0 && s.number(f.largest_byte()) >= device::kTurnedWords * 4 &&
                s.number(f.ups_byte()) >= f.largest_byte() + 8 * 64 * 4 &&
                s.number(f.marked_byte()) >= f.ups_byte() + 64 * 4 && s.number(f.marked_byte() + 4) <= p.shared_bytes &&
                s.number(f.largest_byte() % 4 + f.ups_byte() % 4 + f.marked_byte() % 4) == 0);
  }
  // Halves in rows that begin at multiples of 16 bytes.
  void rows() const {
    Scope s(report);
    const Sizes size(s, "");
    const Long pieces = f.row_pieces(size.inner), beside = device::pieces_of(pieces, 512);
    const Long task = s.any<i64>("task", 0, kMostBlocks);
    const Int thread = s.any<int>("thread", 0, device::kPackThreads), i = s.any<int>("i", 0, 4);
    s.assume(*task < *f.repacks_of(size.lines, size.inner));
    numbers(s, task, beside);
    const Long row = f.repacked_row(task, beside, i), col = f.repacked_col(task, beside, thread, i);
    const z3::expr piece = *col / 8, rows_above = *(task / beside);
    s.claim("no piece is copied twice: task, thread and turn follow from its row and column",
            *row / 2 == rows_above && rows_above * *beside + piece / 512 == *task &&
                z3::mod(*row, 2) * 2 + z3::mod(piece / 256, 2) == *i && z3::mod(piece, 256) == *thread &&
                z3::mod(*col, 8) == 0);
    s.claim_arithmetic("no index of a pass leaves its type");

    Scope t(report);
    const Sizes all(t, "");
    const Long across = device::pieces_of(f.row_pieces(all.inner), 512), r = t.any<i64>("row", 0, kMostExtent);
    const Long c = t.any<i64>("column", 0, kMostExtent);
    t.assume(*r < *all.lines && *c < *all.inner);
    const z3::expr far = *r / 2, above = far * *across, end = *device::packed_parts(all.lines, 2);
    t.assume(in_order(far, end, *across, above, end * *across));
    const Long number = t.symbol<i64>(above + *c / 4096);
    t.lemma("the task of a row and a column is one of the launch",
            *number >= 0 && *number < *f.repacks_of(all.lines, all.inner));
    const z3::expr other = *(number / across);
    t.assume(in_order(other, far, *across, other * *across, above));
    const Int who = t.symbol<int>(z3::mod(*c / 8, 256)),
              turn = t.symbol<int>(z3::mod(*r, 2) * 2 + z3::mod(*c / 2048, 2));
    t.claim("every piece is copied",
            *f.repacked_row(number, across, turn) == *r && *f.repacked_col(number, across, who, turn) == *c / 8 * 8);
  }
  // Rows that begin anywhere are read from a multiple of 16 bytes on, in two pieces.
  void skewed() const {
    const int per = 16 / p.element_bytes;
    for (int skew = 1; skew < per; ++skew) {
      Scope s(report);
      const Long cols = s.any<i64>("cols", 1, kMostExtent + 1), col = s.any<i64>("column", 0, kMostExtent);
      const z3::expr before = *s.any<i64>("elements before the row", 0, kMostElements);
      s.assume(z3::mod(before + *col, per) == skew && *col < *cols);
      s.assume(*col >= skew && *f.left_of(cols, col) >= 16 - skew);
      const z3::expr at = *f.aligned_col(col, skew);
      s.claim("a row is read from a multiple of 16 bytes on, and inside",
              z3::mod(before + at, per) == 0 && at >= 0 && at + 16 <= *cols && at <= *col && *col + 8 <= at + 16);
    }
  }
  void all() const {
    if (!p.integers)
      rows();
    else if (p.along)
      across(), turned(), turned_words(), largest();
    else
      along();
    if (p.element_bytes == 2) skewed();
  }

 private:
  const PackedFactor& p;
  const Functions& f;
  Report& report;
};

}  // namespace

void claim(const PackedFactor& part, const Functions& f, Report& report) { Pack(part, f, report).all(); }

}  // namespace tokitai::proofs

// What is packed before a product on tensor cores: who packs which elements of a factor, and where they go. That
// nothing is done twice is claimed by naming who does it.
#include <limits>

#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

constexpr i64 kMostStored = i64{1} << 47;  // elements of a factor: contract/check.cpp

// A factor: `lines` of the output by the contracted index, or the rows and columns that it is stored in.
struct Sizes {
  Sizes(Scope& s, const std::string& which)
      : lines(s.any<i64>("lines" + which, 1, kMostExtent + 1)), inner(s.any<i64>("inner" + which, 1, kMostExtent + 1)) {
    s.assume(*lines * *inner <= s.number(kMostStored));
  }
  Long lines, inner;
};
// What is known of the product of a size that is rounded up and another one.
z3::expr rounded(const Long& up, const Long& size, int by, const Long& other) {
  return in_order(*up, *size + by, *other, *up * *other, *size * *other + by * *other);
}

class Space {
 public:
  Space(const PackedSpace& part, const Functions& functions, Report& to) : p(part), f(functions), report(to) {}

  void integers() const {
    Scope s(report);
    const Sizes left(s, ""), right(s, "'");
    s.assume(*left.inner == *right.inner);
    for (const Sizes* one : {&left, &right}) {
      const Long padded = f.padded_inner(one->inner), blocks = device::packed_parts(one->inner, 128);
      const Long lines = f.padded_lines(one->lines);
      s.lemma("a factor is padded to whole blocks and to 64 lines",
              *padded >= *one->inner && *padded < *one->inner + 128 && z3::mod(*padded, 128) == 0 &&
                  *padded == 128 * *blocks && *lines >= *one->lines && *lines < *one->lines + 64 &&
                  z3::mod(*lines, 64) == 0);
      s.assume(rounded(padded, one->inner, 128, one->lines) && rounded(lines, one->lines, 64, blocks) &&
               in_order(*blocks, *one->inner + 1, *one->lines, *blocks * *one->lines,
                        *one->inner * *one->lines + *one->lines));
    }
    const Long a = f.planes_bytes(left.lines, left.inner), b = f.planes_bytes(right.lines, right.inner);
    const Long c = f.scales_bytes(left.lines, left.inner), d = f.scales_bytes(right.lines, right.inner);
    s.claim("planes have a byte of each padded index of each line, scales a half of each padded line of each block",
            *a == 2 * *left.lines * *f.padded_inner(left.inner) &&
                *c == 2 * *device::packed_parts(left.inner, 128) * *f.padded_lines(left.lines));
    // One behind the other, as product_pack.h and plan_product.cpp add them up.
    const Long regions[] = {Long(s.ledger(), s.number(0)), a, a + b, a + b + c, a + b + c + d};
    s.claim("no two packed regions overlap", *a > 0 && *b > 0 && *c > 0 && *d > 0);
    for (int i = 0; i < 4; ++i)
      s.claim("packed regions begin at multiples of 16 bytes, where their words and halves do",
              z3::mod(*regions[i], 16) == 0 && 4 * *f.planes_begin(regions[i]) == *regions[i] &&
                  2 * *f.packed_scales_begin(regions[i]) == *regions[i]);
    s.claim_arithmetic("no size of what is packed leaves its type");
  }
  void rows() const {
    Scope s(report);
    const Sizes left(s, ""), right(s, "'");
    for (const Sizes* one : {&left, &right}) {
      const Long pieces = f.row_pieces(one->inner);
      s.lemma("a row has whole pieces of eight", 8 * *pieces >= *one->inner && 8 * *pieces < *one->inner + 8);
      s.assume(rounded(8 * pieces, one->inner, 8, one->lines));
    }
    const Long a = f.repacked_bytes(left.lines, left.inner), b = f.repacked_bytes(right.lines, right.inner);
    s.claim("packed rows have 16 bytes of each piece", *a == 16 * *left.lines * *f.row_pieces(left.inner));
    s.claim("no two packed regions overlap", *a > 0 && *b > 0);
    s.claim("packed regions begin at multiples of 16 bytes, where their words and halves do",
            z3::mod(*a, 16) == 0 && 4 * *f.planes_begin(a) == *a);
    (void)(a + b);
    s.claim_arithmetic("no size of what is packed leaves its type");
  }
  // Words of both planes, and scales: matrices whose rows begin at a padded index each.
  void places() const {
    for (int plane = 0; plane < 2; ++plane) {
      Scope s(report);
      const Sizes size(s, "");
      const Long padded = f.padded_inner(size.inner), line = s.any<i64>("line", 0, kMostExtent);
      const Long piece = s.any<i64>("index / 8", 0, kMostExtent / 8), inner = piece * 8;
      s.assume(*line < *size.lines && *inner < *padded && rounded(padded, size.inner, 128, size.lines));
      const z3::expr row = plane * *size.lines + *line, begin = row * *padded;
      s.assume(in_order(row, plane * *size.lines + *size.lines, *padded, begin, (plane + 1) * *size.lines * *padded));
      const Int at(s.ledger(), s.number(plane));
      const Long word = f.plane_word(at, line, inner, size.lines, padded);
      s.lemma("a word of a plane lies in its row of both planes", 4 * *word == begin + *inner);
      s.claim("two words of a plane begin at a multiple of two", z3::mod(*word, 2) == 0);
      s.claim("words of planes lie in them", *word >= 0 && 4 * (*word + 2) <= *f.planes_bytes(size.lines, size.inner));
      s.claim_arithmetic("no place of a packed integer leaves its type");
    }
    matrix_places("bytes of packed planes", report);
    scales();
    matrix_places("packed scales", report);
  }
  void scales() const {
    Scope s(report);
    const Long far = s.any<i64>("line / 64", 0, kMostExtent / 64 + 1), lines = far * 64;
    const Long none(s.ledger(), s.number(0));
    for (int line = 0; line < 64; ++line)
      s.claim("scales of a block lie in its row, each 64 lines in their order",
              *f.packed_scale(none, lines + line, none) == *lines + line / 2 % 4 * 16 + line / 8 * 2 + line % 2);
    Scope t(report);
    const Sizes size(t, "");
    const Long padded = f.padded_lines(size.lines), blocks = device::packed_parts(size.inner, 128);
    const Long block = t.any<i64>("block", 0, kMostExtent), line = t.any<i64>("line", 0, kMostExtent);
    const Long nothing(t.ledger(), t.number(0)), at = f.packed_scale(block, line, padded);
    const z3::expr order = *f.packed_scale(nothing, line, padded);
    t.claim("a block's row of scales lies behind those before it", *at == *block * *padded + order);
    t.assume(*block < *blocks && *line < *padded && order >= 0 && order < *padded);  // as shown: in the same 64 lines
    t.assume(in_order(*block, *blocks, *padded, *block * *padded, *blocks * *padded));
    t.assume(rounded(padded, size.lines, 64, blocks) &&
             in_order(*blocks, *size.inner + 1, *size.lines, *blocks * *size.lines,
                      *size.inner * *size.lines + *size.lines));
    t.claim("scales lie in their region", *at >= 0 && 2 * (*at + 1) <= *f.scales_bytes(size.lines, size.inner));
    t.claim_arithmetic("no place of a packed scale leaves its type");
  }
  void row_places() const {
    Scope s(report);
    const Sizes size(s, "");
    const Long pieces = f.row_pieces(size.inner), row = s.any<i64>("row", 0, kMostExtent);
    const Long piece = s.any<i64>("column / 8", 0, kMostExtent / 8), col = piece * 8;
    s.assume(*row < *size.lines && *col < *size.inner && rounded(8 * pieces, size.inner, 8, size.lines));
    s.assume(in_order(*row, *size.lines, *pieces, *row * *pieces, *size.lines * *pieces));
    const Long word = f.repacked_word(row, col, pieces);
    s.claim("a piece has four words of its own in its row", *word == (*row * *pieces + *piece) * 4 && *piece < *pieces);
    s.claim("pieces lie in their region", *word >= 0 && 4 * (*word + 4) <= *f.repacked_bytes(size.lines, size.inner));
    s.claim_arithmetic("no place of a piece leaves its type");
    matrix_places("packed pieces", report);
  }
  void all() const {
    if (p.integers)
      integers(), places();
    else
      rows(), row_places();
  }

 private:
  const PackedSpace& p;
  const Functions& f;
  Report& report;
};

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

void claim(const PackedSpace& part, const Functions& f, Report& report) { Space(part, f, report).all(); }
void claim(const PackedFactor& part, const Functions& f, Report& report) { Pack(part, f, report).all(); }

}  // namespace tokitai::proofs

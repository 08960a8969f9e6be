// Where what is packed before a product on tensor cores lies in the workspace.
#include "proofs/claims.h"
#include "proofs/limits.h"
#include "proofs/products.h"

namespace tokitai::proofs {
namespace {

// The sizes of a product that is packed, and where its factors go.
struct Packed {
  Packed(Scope& s, const PackedSpace& part, const Functions& f)
      : rows(s.any<i64>("rows", 1, kMostExtent + 1)),
        cols(s.any<i64>("cols", 1, kMostExtent + 1)),
        inner(s.any<i64>("inner", 1, kMostExtent + 1)),
        groups(s.any<i64>("groups", 1, kMostExtent + 1)),
        at(f.packing_of(part.plan, part.along[0], part.along[1], rows, cols, inner, groups)),
        left_planes(at.left.planes.value(s.ledger())),
        right_matrices(at.right.matrices.value(s.ledger())) {
    // The operands' elements.
    s.assume(*rows * *inner <= s.number(kMostStored) && *cols * *inner <= s.number(kMostStored));
    if (part.plan.grouped == device::Grouped::rows)
      s.assume(*groups * *cols * *inner <= s.number(kMostStored) && *groups * *inner <= s.number(kMostStored) &&
               *groups * *cols <= s.number(kMostStored));
    if (part.plan.grouped == device::Grouped::sums)
      s.assume(*groups * *rows <= s.number(kMostStored) && *groups * *cols <= s.number(kMostStored));
    // plan_product.cpp
    for (const auto* one : {&at.left, &at.right})
      s.assume(*one->lines <= s.number(kMostExtent) && *one->inner <= s.number(kMostExtent));
  }
  Long rows, cols, inner, groups;
  device::Packing<Long> at;
  z3::expr left_planes, right_matrices;
};

class Space {
 public:
  Space(const PackedSpace& part, const Functions& functions, Report& to)
      : part(part),
        p(part.plan),
        by_rows(p.grouped == device::Grouped::rows),
        sums(p.grouped == device::Grouped::sums),
        f(functions),
        report(to) {}

  void integers() const {
    Scope s(report);
    const Packed packed(s, part, f);
    const auto& [left, right, bytes] = packed.at;
    const z3::expr matrices = packed.right_matrices;
    slots(s, packed);
    for (const auto* one : {&left, &right}) {
      const Long padded = f.padded_inner(one->inner), blocks = device::packed_parts(one->inner, 128);
      const Long lines = f.padded_lines(one->lines);
      s.lemma("a factor is padded to whole blocks and to 64 lines",
              *padded >= *one->inner && *padded < *one->inner + 128 && z3::mod(*padded, 128) == 0 &&
                  *padded == 128 * *blocks && *lines >= *one->lines && *lines < *one->lines + 64 &&
                  z3::mod(*lines, 64) == 0);
      s.assume(rounded(padded, one->inner, 128, one->lines) && rounded(lines, one->lines, 64, blocks) &&
               in_order(*blocks, *one->inner + 1, *one->lines, *blocks * *one->lines,
                        *one->inner * *one->lines + *one->lines));
      if (by_rows && one == &right) {
        const Long all = s.symbol<i64>(*packed.groups * *packed.cols);
        const Long each = s.symbol<i64>(*packed.groups * *blocks);
        s.assume(rounded(padded, one->inner, 128, all) && rounded(lines, one->lines, 64, each) &&
                 rounded(blocks, one->inner, 1, all) && rounded(blocks, one->inner, 1, packed.groups));
      }
    }
    const Long a = f.planes_bytes(left.lines, left.inner), b = f.planes_bytes(right.lines, right.inner);
    const Long c = f.scales_bytes(left.lines, left.inner), d = f.scales_bytes(right.lines, right.inner);
    s.claim("planes have a byte of each padded index of each line, scales a half of each padded line of each block",
            *a == 2 * *left.lines * *f.padded_inner(left.inner) &&
                *c == 2 * *device::packed_parts(left.inner, 128) * *f.padded_lines(left.lines));
    s.claim("no two packed regions overlap, and all lie in the workspace",
            packed.left_planes >= table(s, packed) && *right.planes >= packed.left_planes + *a &&
                *left.scales >= *right.planes + matrices * *b && *right.scales >= *left.scales + *c &&
                *bytes >= *right.scales + matrices * *d);
    for (const Long& region : {s.symbol<i64>(packed.left_planes), right.planes, left.scales, right.scales})
      s.claim("packed regions begin at multiples of 16 bytes, where their words and halves do",
              z3::mod(*region, 16) == 0 && 4 * *f.planes_begin(region) == *region &&
                  2 * *f.packed_scales_begin(region) == *region);
    if (by_rows) {
      const Int matrix = s.any<int>("matrix", 0, kMostExtent / device::kTileRows);
      const Int plane = s.any<int>("plane", 0, 2);
      s.claim("a matrix's planes and scales lie behind those of the matrices before",
              *f.matrix_plane(matrix, plane, 2) * *right.lines * *f.padded_inner(right.inner) ==
                      *matrix * *b + *plane * *right.lines * *f.padded_inner(right.inner) &&
                  z3::mod(*matrix * *b, 16) == 0 && z3::mod(*matrix * *d, 16) == 0);
    }
    s.claim_arithmetic("no size of what is packed leaves its type");
  }
  void rows() const {
    Scope s(report);
    const Packed packed(s, part, f);
    const auto& [left, right, bytes] = packed.at;
    slots(s, packed);
    const auto region = [&](const device::PackedFactor<Long>& one, bool along, bool is_packed) {
      const Long& height = along ? one.inner : one.lines;
      const Long& width = along ? one.lines : one.inner;
      if (!is_packed) return s.number(0);
      const Long pieces = f.row_pieces(width);
      s.lemma("a row has whole pieces of eight", 8 * *pieces >= *width && 8 * *pieces < *width + 8);
      s.assume(rounded(8 * pieces, width, 8, height));
      const Long all = f.repacked_bytes(height, width);
      s.claim("packed rows have 16 bytes of each piece", *all == 16 * *height * *f.row_pieces(width));
      return *all;
    };
    const z3::expr a = region(left, part.along[0], p.packed[0]), b = region(right, part.along[1], p.packed[1]);
    const Long begins[] = {s.symbol<i64>(packed.left_planes), s.symbol<i64>(right.planes.value(s.ledger()))};
    s.claim("no two packed regions overlap, and all lie in the workspace",
            packed.left_planes >= table(s, packed) && *begins[1] >= packed.left_planes + a &&
                bytes.value(s.ledger()) >= *begins[1] + b);
    for (const Long& begin : begins)
      s.claim("packed regions begin at multiples of 16 bytes, where their words and halves do",
              z3::mod(*begin, 16) == 0 && 4 * *f.planes_begin(begin) == *begin);
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
    if (p.arithmetic == Arithmetic::block15)
      integers(), places();
    else
      rows(), row_places();
  }

 private:
  // The table of groups' slots lies before the factors.
  z3::expr table(Scope& s, const Packed& packed) const {
    if (p.slot_rows == 0) return s.number(0);
    return *f.slot_table_bytes(f.slots_of(by_rows ? packed.rows : packed.inner, packed.groups, p.slot_rows),
                               packed.groups);
  }
  // Integers of groups lie in slots, which have at most so many lines more than there are rows.
  void slots(Scope& s, const Packed& packed) const {
    const auto& [left, right, bytes] = packed.at;
    const bool integer = p.arithmetic == Arithmetic::block15;
    const Long &lines = sums ? left.inner : left.lines, &rows = sums ? packed.inner : packed.rows;
    const z3::expr matrices = integer && by_rows ? *packed.groups : s.number(1);
    // Rows that are merely laid out anew are those of all matrices, one behind the other.
    const z3::expr each = !integer && by_rows ? *packed.groups : s.number(1);
    s.lemma("packed factors have their lines and their contracted index",
            (sums || !by_rows || !integer ? *left.lines == *packed.rows : s.yes()) &&
                (sums && integer ? s.yes() : *left.inner == *packed.inner) &&
                *right.lines == (part.along[1] ? *packed.cols : each * *packed.cols) &&
                *right.inner == (part.along[1] ? each * *packed.inner : *left.inner) &&
                packed.right_matrices == matrices);
    if (!integer || p.grouped == device::Grouped::no) return;
    const z3::expr slots = *f.slots_of(rows, packed.groups, p.slot_rows);
    s.lemma("integers of groups lie in slots",
            *lines == slots * p.slot_rows && *lines <= *rows + p.slot_rows * *packed.groups);
    const z3::expr most = *rows + p.slot_rows * *packed.groups + 1;
    const auto bounded = [&](const Long& by) {
      return in_order(*lines, most, *by, *lines * *by, *rows * *by + p.slot_rows * *packed.groups * *by + *by);
    };
    s.assume(sums ? bounded(packed.rows) && bounded(packed.cols) : bounded(packed.inner));
  }

  const PackedSpace& part;
  const device::PackPlan& p;
  const bool by_rows, sums;
  const Functions& f;
  Report& report;
};

}  // namespace

void claim(const PackedSpace& part, const Functions& f, Report& report) { Space(part, f, report).all(); }

}  // namespace tokitai::proofs

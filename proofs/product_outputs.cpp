// The product on tensor cores: which outputs of a tile a thread has, where they are staged for the copy engine, and
// which scales they take.
#include "proofs/claims.h"
#include "proofs/limits.h"

namespace tokitai::proofs {
namespace {

// Where in a box the copy engine looks for a piece of 16 bytes of a row: bits 4 to 6 of its byte are crossed with bits
// 7 to 9, which are the row's. That is one place for each piece.
int crossed_byte(int row, int piece) { return row * device::kWideBytes + (piece ^ row % 8) * 16; }

class Outputs {
 public:
  Outputs(const ProductOutputs& part, const Functions& functions, Report& to)
      : p(part), out_cols(device::kWideBytes / part.result), f(functions), report(to) {}

  // A group of 32 threads has 16 rows of the tile.
  void owners() const {
    Scope s(report);
    const Int lane = s.any<int>("lane", 0, 32), i = s.any<int>("i", 0, p.cols / 2);
    const z3::expr row = *f.sum_row(lane, i), col = *f.sum_col(lane, i);
    s.claim("outputs lie in their group's rows of the tile", row >= 0 && row < 16 && col >= 0 && col < p.cols);
    s.claim("no output has two owners: its lane and number follow from it",
            z3::mod(row, 8) * 4 + z3::mod(col, 8) / 2 == *lane && col / 8 * 4 + row / 8 * 2 + z3::mod(col, 2) == *i);
    Scope t(report);
    const z3::expr r = *t.any<int>("row", 0, 16), c = *t.any<int>("column", 0, p.cols);
    const Int its = t.symbol<int>(z3::mod(r, 8) * 4 + z3::mod(c, 8) / 2);
    const Int number = t.symbol<int>(c / 8 * 4 + r / 8 * 2 + z3::mod(c, 2));
    t.claim("every output of a group has an owner",
            *its < 32 && *number < p.cols / 2 && *f.sum_row(its, number) == r && *f.sum_col(its, number) == c);
    const z3::expr line = *t.any<int>("row of the tile", 0, device::kTileRows);
    const z3::expr rows = *f.group_rows(t.symbol<int>(4 + line / 16));
    t.claim("every row of a tile has a group", line / 16 < 8 && rows <= line && line < rows + 16);
    const Int e = s.any<int>("e", 0, 2), at = f.counted_on(i, e);
    s.assume(z3::mod(*i, 4) == 0);
    s.claim("a column's two rows of a thread take one bias",
            *at == *i + *e && *f.sum_col(lane, at) == *f.sum_col(lane, at + 2) && *at + 2 < p.cols / 2 &&
                *f.sum_row(lane, at) == *f.sum_row(lane, i));
    s.claim_arithmetic("no index of an output leaves its type");
  }
  // Boxes of 16 rows by 128 bytes, so many of a group at once.
  void boxes() const {
    Scope s(report);
    const int all = p.cols / out_cols;
    const Int group = s.any<int>("group", 4, 12), box = s.any<int>("box", 0, all);
    const z3::expr byte = 4 * *f.box_begin(group, box, p.boxes);
    s.claim("a box belongs to one group and turn: they follow from its place",
            z3::mod(byte, device::kBoxBytes) == 0 && byte / (p.boxes * device::kBoxBytes) == *group - 4 &&
                z3::mod(byte / device::kBoxBytes, p.boxes) == z3::mod(*box, p.boxes));
    s.claim("boxes lie in their region", byte >= 0 && byte + device::kBoxBytes <= 8 * p.boxes * device::kBoxBytes);
    s.claim("a box's elements begin where its words do",
            p.result * *f.element_box_begin(group, box, p.boxes, p.result) == byte);
    const Int lane = s.any<int>("lane", 0, 32), i = s.any<int>("i in its box", 0, out_cols / 2);
    const Int number = s.symbol<int>(*box * (out_cols / 2) + *i), col = f.sum_col(lane, number);
    const z3::expr inside = *f.col_in_box(col, out_cols);
    s.claim("a box has the outputs of its columns",
            inside >= 0 && inside < out_cols && *box * out_cols + inside == *col && s.number(all * out_cols) == p.cols);
    const Int corner = s.any<int>("corner", 0, kMostExtent);
    s.claim("a box begins at its columns", *f.box_corner(corner, box, out_cols) == *corner + *box * out_cols);
    s.claim_arithmetic("no place of a box leaves its type");
  }
  void all() const {
    owners();
    boxes();
  }

 private:
  const ProductOutputs& p;
  const int out_cols;
  const Functions& f;
  Report& report;
};

// One box: 16 rows of 128 bytes.
class Box {
 public:
  Box(const ProductBox& part, const Functions& functions, Report& to)
      : p(part), out_cols(device::kWideBytes / part.result), f(functions), report(to) {}

  // Where an element of a box lies is what the copy engine says, piece by piece.
  void staged() const {
    const int per = 16 / p.result;
    for (int r = 0; r < 16; ++r)
      for (int piece = 0; piece < 8; ++piece) {
        Scope s(report);
        const Int row(s.ledger(), s.number(r)), word = s.any<int>("word of the piece", 0, 4);
        const Int element = s.any<int>("element of the piece", 0, per);
        s.claim("a word is staged where the copy engine takes it",
                4 * *f.out_word(row, word + piece * 4) == crossed_byte(r, piece) + *word * 4);
        s.claim("an element is read where the copy engine would take it",
                p.result * *f.out_element(row, element + piece * per, p.result) ==
                    crossed_byte(r, piece) + *element * p.result);
        s.claim_arithmetic("no place of a staged output leaves its type");
      }
  }
  // Where the copy engine does not write a box, a lane takes a column at a time.
  void columns() const {
    Scope s(report);
    const Int turn = s.any<int>("turn", 0, out_cols / 32), lane = s.any<int>("lane", 0, 32);
    const z3::expr mine = *f.lane_in_turn(turn, lane), col = *s.any<int>("column", 0, out_cols);
    const Int its = s.symbol<int>(col / 32), at = s.symbol<int>(z3::mod(col, 32));
    s.claim("no column of a box is written twice: turn and lane follow from it",
            mine >= 0 && mine < out_cols && mine / 32 == *turn && z3::mod(mine, 32) == *lane);
    s.claim("every column of a box is written", *its < out_cols / 32 && *f.lane_in_turn(its, at) == col);
  }
  // 32-bit outputs go into a box in pairs: of rows r and r + 8, eight columns after the other.
  void pairs() const {
    for (int r = 0; r < 16; ++r) {
      Scope s(report);
      const Int pair = s.any<int>("lane % 4", 0, 4), box = s.any<int>("box", 0, kBoxes);
      const Int eight = s.any<int>("eight columns", 0, 4), lane = pair + r % 8 * 4;
      const Int i = box * 16 + eight * 4 + 2 * (r / 8), next = i + 1;
      const z3::expr col = *eight * 8 + *pair * 2;
      s.claim("two neighbouring outputs lie side by side, from a multiple of two",
              *f.sum_row(lane, i) == r && *f.sum_row(lane, next) == r &&
                  *f.col_in_box(f.sum_col(lane, i), out_cols) == col &&
                  *f.col_in_box(f.sum_col(lane, next), out_cols) == col + 1);
      const Int row(s.ledger(), s.number(r)), two = s.any<int>("word / 2", 0, 16), word = two * 2;
      s.claim("and so do their words",
              z3::mod(*f.out_word(row, word), 2) == 0 && *f.out_word(row, word) + 1 == *f.out_word(row, word + 1));
    }
  }
  // 16-bit outputs as four matrices of 8 x 8, twice eight rows and twice eight columns: lane l gives where row l % 8 of
  // matrix l / 8 lies, and has a pair of each, of row l / 4.
  void matrices() const {
    for (int matrix = 0; matrix < 4; ++matrix)
      for (int r = 0; r < 8; ++r) {
        Scope s(report);
        const int row = r + matrix % 2 * 8;
        const Int pair = s.any<int>("lane % 4", 0, 4), box = s.any<int>("box", 0, kBoxes);
        const Int sixteen = s.any<int>("sixteen columns", 0, out_cols / 16), e = s.any<int>("e", 0, 2);
        const Int lane = pair + 4 * r, i = box * (out_cols / 2) + sixteen * 8, number = i + (2 * matrix + e);
        const z3::expr col = *f.col_in_box(f.sum_col(lane, number), out_cols);
        const z3::expr inside = *sixteen * 16 + matrix / 2 * 8 + *pair * 2 + *e;
        s.claim("a matrix has its outputs' row and columns", *f.sum_row(lane, number) == row && col == inside);
        s.claim("a row of a matrix is one piece of 16 bytes",
                inside * 2 == (*sixteen * 2 + matrix / 2) * 16 + *pair * 4 + *e * 2 && *pair * 4 + *e * 2 < 16);
        for (int piece = matrix / 2; piece < 8; piece += 2) {
          const Int told(s.ledger(), s.number(matrix * 8 + r)), first = box * (out_cols / 2) + piece / 2 * 8;
          s.claim("a matrix is stored where the copy engine takes it",
                  4 * *f.matrix_word(told, first) == crossed_byte(row, piece));
        }
        s.claim_arithmetic("no place of a matrix leaves its type");
      }
  }
  void all() const {
    staged();
    columns();
    if (p.result == 4)
      pairs();
    else
      matrices();
  }

 private:
  static constexpr int kBoxes = 8;  // of a group's rows, at the most

  const ProductBox& p;
  const int out_cols;
  const Functions& f;
  Report& report;
};

// Of blocks of integers: the scales of a slot, in the order that packing gives them.
void row_scales(const Functions& f, Report& report) {
  Scope s(report);
  const Int corner = s.any<int>("corner / 64", 0, kMostExtent / 64);
  for (int line = 0; line < 64; ++line)
    s.claim("the order of scales is one of each 64: by twos, then by eights",
            *f.scale_order(corner * 64 + line) == *corner * 64 + line / 2 % 4 * 16 + line / 8 * 2 + line % 2);
  const Int lane = s.any<int>("lane", 0, 32), rows = s.any<int>("rows of a group / 16", 0, 8);
  const Int i = s.any<int>("i", 0, 4), row = f.sum_row(lane, i);
  const z3::expr left = *f.row_scale(rows * 16, row);
  s.claim("a row's scale is where packing puts it, in the left factor's scales",
          left == *f.scale_order(rows * 16 + row) && left >= 0 && left < device::kTileRows);
  s.claim_arithmetic("no place of a scale leaves its type");
}
void column_scales(int cols, const Functions& f, Report& report) {
  for (int pair = 0; pair < 4; ++pair)
    for (int half = 0; half < 2; ++half) {
      Scope s(report);
      const Int lane = s.any<int>("lane / 4", 0, 8) * 4 + pair, far = s.any<int>("64 columns", 0, cols / 64);
      const Int i = far * 8 + 4 * half, e = s.any<int>("e", 0, 4), one = s.any<int>("of two", 0, 2);
      const Int col = f.sum_col(lane, (i + e) * 4 + one);
      const z3::expr begin = *f.col_scales(lane, i), eight = *e + 4 * half;
      s.lemma("a thread's sums by four are eight columns apart", *col == *far * 64 + eight * 8 + 2 * pair + *one);
      s.claim("eight scales of a thread are those of its columns, in pairs",
              begin + 2 * *e + *one == device::kTileRows + *far * 64 + pair * 16 + eight * 2 + *one);
      s.claim("they lie in the slot's scales, from a multiple of eight",
              z3::mod(begin, 8) == 0 && begin >= device::kTileRows && begin + 8 <= device::kTileRows + cols &&
                  s.number(device::kTileRows % 64 + cols % 64) == 0);
      s.claim_arithmetic("no place of a scale leaves its type");
    }
}
}  // namespace

void claim(const ProductOutputs& part, const Functions& f, Report& report) { Outputs(part, f, report).all(); }
void claim(const ProductBox& part, const Functions& f, Report& report) { Box(part, f, report).all(); }
void claim(const ProductScales& part, const Functions& f, Report& report) {
  row_scales(f, report);
  column_scales(part.cols, f, report);
}

}  // namespace tokitai::proofs

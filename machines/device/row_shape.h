// What a plan of the row pattern says about the layout of a block of threads and of its shared memory.
#pragma once
#include "machines/device/access.h"
#include "machines/device/kinds.h"
#include "machines/device/plans.h"

namespace tokitai::device {

struct RowNumbers {
  int column_threads;  // per block of 2048 columns
  int team;            // threads of this block that share a row
  int held;            // blocks of columns they hold at once
  int groups;          // groups of 32 threads per block of columns
  int piece;           // bytes of a cell
  int pieces;          // of a chunk's vectors, those of all staged operands
  int staged_bytes;
  int box_at;  // behind two mailboxes
};
// Bytes of a thread's elements of a chunk.
constexpr int vector_bytes(const RowPlan& p, int operand) { return p.wide * bytes_of(kind_at(p.kinds, operand)); }
// A cell holds what all staged operands can be cut into, and no more than one access brings.
constexpr int piece_bytes(const RowPlan& p) {
  int bytes = 16;
  for (int i = 0; p.staged >> i != 0; ++i)
    if (((p.staged >> i) & 1u) && vector_bytes(p, i) < bytes) bytes = vector_bytes(p, i);
  return bytes;
}
// The pieces of an operand's vector, and those of the staged operands in front of it.
constexpr int pieces_of_operand(const RowPlan& p, int operand) { return vector_bytes(p, operand) / piece_bytes(p); }
constexpr int pieces_before(const RowPlan& p, int operand) {
  int pieces = 0;
  for (int i = 0; i < operand; ++i)
    if ((p.staged >> i) & 1u) pieces += pieces_of_operand(p, i);
  return pieces;
}
constexpr RowNumbers row_numbers(const RowPlan& p) {
  RowNumbers n{};
  n.column_threads = 256 / p.wide;
  n.team = p.threads / p.teams;
  n.held = n.team / n.column_threads;
  n.groups = n.column_threads / 32;
  n.piece = piece_bytes(p);
  n.pieces = pieces_before(p, kOperands);
  n.staged_bytes = p.on_chip ? p.stages * n.pieces * p.chunks * p.threads * n.piece : 0;
  n.box_at = n.staged_bytes + (p.cluster > 1 ? 16 : 0);
  return n;
}

// Where in shared memory: the staged cells, two mailboxes, the box, and a few words in its place.
constexpr Place<Byte<StagedCell>, int> cells_byte(const RowPlan&) { return 0; }
constexpr Place<Byte<Counted>, int> mailboxes_byte(const RowPlan& p) { return row_numbers(p).staged_bytes; }
constexpr Place<Byte<BoxSlot>, int> box_byte(const RowPlan& p) { return row_numbers(p).box_at; }
constexpr Place<Byte<Counted>, int> words_byte(const RowPlan& p) { return row_numbers(p).box_at; }

// The columns a plan is right for. The planner keeps to it; what is proved about a plan is proved for all of these.
struct ColumnRange {
  int least, most, multiple;
};
constexpr ColumnRange columns_for(const RowPlan& p, int largest) {
  const RowNumbers n = row_numbers(p);
  const int on_chip = (n.held * p.cluster - 1) * 2048 + p.chunks * 256;
  const int most = p.on_chip && on_chip < largest ? on_chip : largest;
  return {p.guard == Guard::none ? on_chip : 1, most, p.guard == Guard::elements ? 1 : p.wide};
}

// The same as constants of a kernel. (Each is a symbol of the binary, so there are no more than these.)
template <RowPlan P> struct RowShape {
  static constexpr int kColumnThreads = row_numbers(P).column_threads;
  static constexpr int kTeam = row_numbers(P).team;
  static constexpr int kHeld = row_numbers(P).held;
  static constexpr int kGroups = row_numbers(P).groups;
  static constexpr bool kOneGroup = kTeam == 32 && P.on_chip && P.cluster == 1;
  static constexpr int kPiece = row_numbers(P).piece;
  static constexpr int kPieces = row_numbers(P).pieces;
  static constexpr int kStagedBytes = row_numbers(P).staged_bytes;
  static constexpr int kBoxAt = row_numbers(P).box_at;
};

}  // namespace tokitai::device

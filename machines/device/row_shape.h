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
  int staged;          // operands that are staged
  int vector_bytes;    // of a thread's elements of a chunk
  int piece;           // bytes of a cell
  int pieces;          // of a vector
  int staged_bytes;
  int box_at;  // behind two mailboxes
};
constexpr RowNumbers row_numbers(const RowPlan& p) {
  Kind storage = Kind::f32;
  for (int i = kOperands - 1; i >= 0; --i)
    if ((p.staged >> i) & 1u) storage = kind_at(p.kinds, i);
  RowNumbers n{};
  n.column_threads = 256 / p.wide;
  n.team = p.threads / p.teams;
  n.held = n.team / n.column_threads;
  n.groups = n.column_threads / 32;
  n.staged = count_set(p.staged);
  n.vector_bytes = p.wide * bytes_of(storage);
  n.piece = n.vector_bytes < 16 ? n.vector_bytes : 16;
  n.pieces = n.vector_bytes / n.piece;
  n.staged_bytes = p.on_chip ? p.stages * n.staged * p.chunks * n.pieces * p.threads * n.piece : 0;
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
  static constexpr int kStaged = row_numbers(P).staged;
  static constexpr int kRowBytes = row_numbers(P).vector_bytes;
  static constexpr int kPiece = row_numbers(P).piece;
  static constexpr int kPieces = row_numbers(P).pieces;
  static constexpr int kStagedBytes = row_numbers(P).staged_bytes;
  static constexpr int kBoxAt = row_numbers(P).box_at;
};

}  // namespace tokitai::device

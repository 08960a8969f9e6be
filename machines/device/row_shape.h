// What a plan of the row pattern says about the layout of a block of threads and of its shared memory.
#pragma once
#include "machines/device/memory.h"
#include "machines/device/plans.h"

namespace tokitai::device {

// An element of this thread: which block of columns, chunk and lane of it.
struct At {
  int block, chunk, element;
};

template <RowPlan P> struct RowShape {
  static constexpr int kColumnThreads = 256 / P.wide;   // per block of 2048 columns
  static constexpr int kTeam = P.threads / P.teams;     // threads of this block that share a row
  static constexpr int kHeld = kTeam / kColumnThreads;  // blocks of columns they hold at once
  static constexpr int kGroups = kColumnThreads / 32;   // groups of 32 threads per block of columns
  static constexpr bool kOneGroup = kTeam == 32 && P.on_chip && P.cluster == 1;
  static constexpr int kStaged = count_set(P.staged);
  static constexpr Kind storage() {
    for (int i = 0; i < 8; ++i)
      if ((P.staged >> i) & 1u) return kind_at(P.kinds, i);
    return Kind::f32;
  }
  static constexpr int kRowBytes = P.wide * bytes_of(storage());
  static constexpr int kPiece = kRowBytes < 16 ? kRowBytes : 16;  // bytes of a cell
  static constexpr int kPieces = kRowBytes / kPiece;
  static constexpr int kStagedBytes = P.on_chip ? P.stages * kStaged * P.chunks * kPieces * P.threads * kPiece : 0;
  static constexpr int kBoxAt = kStagedBytes + (P.cluster > 1 ? 16 : 0);  // behind two mailboxes
};

}  // namespace tokitai::device

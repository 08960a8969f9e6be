// How a wave multiplies bytes by itself, as a table of numbers: whose pieces of the factors each lane fetches, and
// which sums it has; and what a plan says about a block of threads and its shared memory.
//
// An instruction multiplies a few lines of both factors along a few of the contracted index. A sum of integers may be
// added up in any order, so that it does not matter which of the contracted index meet in an instruction, only that
// both factors agree on it. So every lane fetches whole pieces of 16 bytes, and a few instructions go through them.
#pragma once
#include "machines/device/access.h"
#include "machines/device/plans.h"
#include "machines/device/product_shape.h"

namespace tokitai::device {

inline constexpr int kFragmentThreads = 256;
inline constexpr int kLinePieces = kWideBytes / 16;  // of a staged line

// The pieces of a factor that a lane fetches: of line lane / by % of, and of so many, `of` apart; lane / part_by %
// parts says which of `parts` pieces of it.
struct FragmentSide {
  int by, of, lines, part_by, parts;
};
struct FragmentShape {
  int lanes;       // threads of a wave
  int rows, cols;  // of outputs
  FragmentSide left, right;
  int instructions;              // through the pieces that are fetched in one step
  int row_by, row_of, sum_rows;  // rows of a lane's sums: lane / by % of, and of so many, `of` apart
  int col_by, col_of, col_step;  // their first column: lane / by % of * step
  int run, run_step;             // columns of a row, and how far they lie apart
  int below;                     // waves of a block below each other
  bool kept;                     // a wave's lines of the left factor stay in registers for a whole block
};
constexpr FragmentShape fragment_shape(Fragment f) {
  constexpr FragmentSide kWhole{1, 16, 1, 16, 1}, kHalves{1, 16, 1, 16, 2}, kQuarters{1, 16, 1, 16, 4};
  switch (f) {
    case Fragment::none: break;
    case Fragment::mma: return {32, 16, 8, kHalves, {1, 8, 1, 8, 4}, 2, 4, 8, 2, 1, 4, 2, 2, 1, 4, true};
    case Fragment::mfma16: return {64, 16, 16, kQuarters, kQuarters, 4, 1, 16, 1, 16, 4, 4, 4, 1, 2, true};
    case Fragment::mfma32: return {64, 16, 16, kQuarters, kQuarters, 2, 1, 16, 1, 16, 4, 4, 4, 1, 2, true};
    case Fragment::wmma11: return {32, 16, 16, kWhole, kWhole, 1, 1, 16, 1, 16, 2, 1, 8, 2, 8, true};
    case Fragment::wmma12: return {32, 16, 16, kHalves, kHalves, 2, 1, 16, 1, 16, 2, 8, 8, 1, 4, true};
    case Fragment::dot4: return {32, 16, 32, {8, 4, 4, 32, 1}, {1, 8, 4, 32, 1}, 4, 8, 4, 4, 1, 8, 1, 4, 8, 8, false};
  }
  return {};
}
// Pieces of a line that are multiplied in one step, and how often a lane fetches one of them.
constexpr int step_pieces(Fragment f) {
  const FragmentShape s = fragment_shape(f);
  return s.left.parts > s.right.parts ? s.left.parts : s.right.parts;
}
constexpr int left_turns(Fragment f) { return step_pieces(f) / fragment_shape(f).left.parts; }
constexpr int right_turns(Fragment f) { return step_pieces(f) / fragment_shape(f).right.parts; }
// Neighbouring columns of a lane.
constexpr int run_of(Fragment f) { return fragment_shape(f).run_step == 1 ? fragment_shape(f).run : 1; }

struct FragmentTile {
  int wave_rows, wave_cols;  // outputs of a wave
  int across;                // waves beside each other
  int lines;                 // of both factors, one behind the other, in one plane of a stage
  int turns;                 // pieces of 16 bytes of a stage that a thread brings
  int scales, bytes;         // where scales begin in shared memory, and its end
};
constexpr FragmentTile fragment_tile(const FragmentPlan& p) {
  const FragmentShape s = fragment_shape(p.fragment);
  FragmentTile t{};
  t.across = kFragmentThreads / s.lanes / s.below;
  t.wave_rows = kTileRows / s.below;
  t.wave_cols = p.cols / t.across;
  t.lines = kTileRows + p.cols;
  t.turns = 2 * t.lines * kLinePieces / kFragmentThreads;
  t.scales = p.stages * 2 * t.lines * kWideBytes;
  t.bytes = t.scales + p.stages * t.lines * 4;
  return t;
}

constexpr Place<Byte<LinePiece>, int> pieces_byte() { return 0; }
constexpr Place<Byte<LineScale>, int> line_scales_byte(const FragmentPlan& p) { return fragment_tile(p).scales; }

}  // namespace tokitai::device

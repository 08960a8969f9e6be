// Where the elements of a product of integers lie where waves multiply bytes by themselves: which pieces of the factors
// a thread brings, where they are staged, which of them it multiplies, and which outputs it has.
#pragma once
#include "machines/device/fragment_shape.h"
#include "machines/device/place_product.h"

namespace tokitai::device {

template <class I> TK_FN Place<Given<Counted>, I> wave_of(Place<Thread, I> thread, Fragment f) {
  return thread / fragment_shape(f).lanes;
}
template <class I> TK_FN Place<Given<Counted>, I> lane_in_wave(Place<Thread, I> thread, Fragment f) {
  return thread % fragment_shape(f).lanes;
}

// --- Staging. A stage has a block of 128 of the contracted index: the lines of both factors, the right one's behind
// the left one's, as high parts and then as low ones. Eight threads bring a line, 16 bytes each; all of them bring 32
// lines in a turn, of one factor and one plane.
inline constexpr int kTurnLines = kFragmentThreads / kLinePieces;
template <class I> TK_FN Place<Given<Counted>, I> turn_line(CounterOf<I> turn, int lines) {
  return turn * kTurnLines % lines;
}
template <class I> TK_FN Place<Given<Counted>, I> turn_plane(CounterOf<I> turn, int lines) {
  return turn * kTurnLines / lines;
}
template <class I> TK_FN Place<Given<Counted>, I> brought_line(CounterOf<I> first, Place<Thread, I> thread) {
  return first + thread / kLinePieces;
}
template <class I> TK_FN Place<Given<Counted>, I> brought_piece(Place<Thread, I> thread) {
  return thread % kLinePieces;
}
// Behind the left factor's lines those of the right one.
template <class I> TK_FN Place<Given<Counted>, I> line_behind_left(CounterOf<I> line) { return line - kTileRows; }
template <class I> TK_FN Place<Given<Counted>, I> line_on_right(CounterOf<I> line) { return kTileRows + line; }
// A line of a factor: below the last one, that one, because what is made of it is not written. Its pieces in memory, in
// the plane of high parts or of low ones.
template <class I> TK_FN Place<Given<Counted>, I> fetched_line(Place<Corner, I> tile, CounterOf<I> line, I lines) {
  return choose(tile + line < lines, tile + line, lines - 1);
}
template <class L, class I>
TK_FN Place<Begin<PlanePiece>, L> plane_begin(L bytes_before, CounterOf<I> plane, L lines, L padded) {
  return bytes_before / 16 + plane * (lines * (padded / 16));
}
template <class I>
TK_FN auto packed_piece(CounterOf<I> line, CounterOf<I> block, CounterOf<I> piece, I pieces)
    -> Place<PlanePiece, decltype(as_long(I(0)))> {
  return as_long(line) * as_long(pieces) + as_long(block * kLinePieces + piece);
}
// In shared memory the pieces of a line are crossed with its number, so that neither those who bring a line nor those
// who read the same piece of eight lines meet a bank twice. Lines that are a multiple of eight apart are crossed alike:
// whoever has found a piece of one of them finds the others' so many pieces behind it.
template <class I>
TK_FN Place<LinePiece, I> staged_piece(CounterOf<I> stage, CounterOf<I> plane, CounterOf<I> line, CounterOf<I> piece,
                                       int lines) {
  return ((stage * 2 + plane) * lines + line) * kLinePieces + crossed(I(piece), I(line % 8));
}
template <class I> TK_FN Place<Given<Counted>, I> pieces_behind(CounterOf<I> plane, CounterOf<I> line, int lines) {
  return (plane * lines + line) * kLinePieces;
}
// The scale of a line, which one thread brings, from where packing has put it.
template <class I> TK_FN Place<Given<Counted>, I> scaled_line(Place<Thread, I> thread) { return thread + 0; }
template <class I>
TK_FN auto fetched_scale(CounterOf<I> block, CounterOf<I> line, I padded) -> Place<ScaleHalf, decltype(as_long(I(0)))> {
  return as_long(block) * as_long(padded) + as_long(scale_order(I(line)));
}
template <class I> TK_FN Place<LineScale, I> staged_scale(CounterOf<I> stage, CounterOf<I> line, int lines) {
  return stage * lines + line;
}

// --- Waves, and the fragments of a wave.
template <class I> TK_FN Place<Given<Counted>, I> wave_row(CounterOf<I> wave, int across, int wave_rows) {
  return wave / across * wave_rows;
}
template <class I> TK_FN Place<Given<Counted>, I> wave_col(CounterOf<I> wave, int across, int wave_cols) {
  return wave % across * wave_cols;
}
template <class I> TK_FN Place<Given<Counted>, I> wave_line(CounterOf<I> first, CounterOf<I> line) {
  return first + line;
}
template <class I> TK_FN Place<Given<Counted>, I> half_begin(CounterOf<I> half, int size) { return half * size; }
// Where a wave's n-th fragment of so many lines begins, and a line of it.
template <class I> TK_FN Place<Given<Counted>, I> fragment_begin(CounterOf<I> n, int size) { return n * size; }
template <class I> TK_FN Place<Given<Counted>, I> fragment_line(CounterOf<I> n, int size, CounterOf<I> line) {
  return n * size + line;
}
// Of either factor the i-th line in a fragment that a lane fetches of, and its piece, turn by turn in each step.
template <class I> TK_FN Place<Given<Counted>, I> left_line(CounterOf<I> lane, CounterOf<I> i, Fragment f) {
  return lane / fragment_shape(f).left.by % fragment_shape(f).left.of + i * fragment_shape(f).left.of;
}
template <class I> TK_FN Place<Given<Counted>, I> right_line(CounterOf<I> lane, CounterOf<I> i, Fragment f) {
  return lane / fragment_shape(f).right.by % fragment_shape(f).right.of + i * fragment_shape(f).right.of;
}
template <class I>
TK_FN Place<Given<Counted>, I> left_piece(CounterOf<I> lane, CounterOf<I> step, CounterOf<I> turn, Fragment f) {
  return step * step_pieces(f) + turn * fragment_shape(f).left.parts +
         lane / fragment_shape(f).left.part_by % fragment_shape(f).left.parts;
}
template <class I>
TK_FN Place<Given<Counted>, I> right_piece(CounterOf<I> lane, CounterOf<I> step, CounterOf<I> turn, Fragment f) {
  return step * step_pieces(f) + turn * fragment_shape(f).right.parts +
         lane / fragment_shape(f).right.part_by % fragment_shape(f).right.parts;
}
// The row and column of a lane's i-th sum. Sums of one row follow each other.
template <class I> TK_FN Place<Given<Counted>, I> fragment_row(CounterOf<I> lane, CounterOf<I> i, Fragment f) {
  return lane / fragment_shape(f).row_by % fragment_shape(f).row_of +
         i / fragment_shape(f).run * fragment_shape(f).row_of;
}
template <class I> TK_FN Place<Given<Counted>, I> fragment_col(CounterOf<I> lane, CounterOf<I> i, Fragment f) {
  return lane / fragment_shape(f).col_by % fragment_shape(f).col_of * fragment_shape(f).col_step +
         i % fragment_shape(f).run * fragment_shape(f).run_step;
}

}  // namespace tokitai::device

// Where the tensor-core product's elements lie: which tiles a cluster multiplies, which boxes of the factors a slot
// holds, which outputs a thread has and where they are staged; and of the passes before it, who packs what to where.
#pragma once
#include "machines/device/place.h"
#include "machines/device/product_shape.h"

namespace tokitai::device {

// --- Tiles. The tiles of a cluster count as one; clusters walk down bands of so many rows, column by column, so that
// what runs at one time shares factors in the cache.
template <class I> TK_FN Place<ClusterTile, I> first_cluster(Place<Block, I> block, int cluster) {
  return block / cluster;
}
template <class I> TK_FN Place<Given<Step<ClusterTile>>, I> clusters_of(I blocks, int cluster) {
  return blocks / cluster;
}
template <class I> TK_FN I band_begin(Place<ClusterTile, I> tile, I cols, int band) {
  return tile / (cols * band) * band;
}
template <class I> TK_FN I band_rows(I begin, I rows, int band) {
  return choose(rows - begin < band, rows - begin, I(band));
}
template <class I> TK_FN Place<ClusterLine, I> walked_row(Place<ClusterTile, I> tile, I rows, I cols, int band) {
  const I begin = band_begin(tile, cols, band);
  return begin + (tile - begin * cols) % band_rows(begin, rows, band);
}
template <class I> TK_FN Place<ClusterLine, I> walked_col(Place<ClusterTile, I> tile, I rows, I cols, int band) {
  const I begin = band_begin(tile, cols, band);
  return (tile - begin * cols) / band_rows(begin, rows, band);
}
// A block's place in its cluster, and the corner of its tile.
template <class I> TK_FN Place<Given<Counted>, I> rank_below(Place<Rank, I> rank, int cluster_rows) {
  return rank % cluster_rows;
}
template <class I> TK_FN Place<Given<Counted>, I> rank_beside(Place<Rank, I> rank, int cluster_rows) {
  return rank / cluster_rows;
}
template <class I>
TK_FN Place<Corner, I> tile_corner(Place<ClusterLine, I> line, CounterOf<I> rank, int cluster, int extent) {
  return (line * cluster + rank) * extent;
}

// --- Slots, in halves. Blocks that share a tile bring a part of it each: lines along the contracted index, or boxes of
// 64 lines by 64 of that index.
template <class I>
TK_FN Place<RingHalf, I> slot_half(CounterOf<I> slot, int slot_bytes, int behind, CounterOf<I> part) {
  return slot * (slot_bytes / 2) + behind / 2 + part * 64;
}
template <class I> TK_FN Place<Corner, I> part_corner(Place<Corner, I> tile, CounterOf<I> line) { return tile + line; }
template <class I> TK_FN Place<Corner, I> slot_corner(CounterOf<I> block, int deep) { return block * deep; }
// A line of a part, and of its boxes.
template <class I> TK_FN Place<Given<Counted>, I> part_line(CounterOf<I> share, CounterOf<I> box, int own) {
  return share * own + box * 64;
}
// How many halves behind a slot's factor the lines of 64 rows begin, and 32 bytes of the contracted index.
template <class I> TK_FN Place<Given<Counted>, I> rows_half(CounterOf<I> rows) { return rows / 64 * 4096; }
template <class I> TK_FN Place<Given<Counted>, I> step_half(CounterOf<I> step, bool along_lines) {
  return step * (along_lines ? 1024 : 16);
}
// Behind the gates that slots are full, those that they are free.
template <class I> TK_FN Place<Given<Counted>, I> free_gate(CounterOf<I> slot, int slots) { return slots + slot; }
template <class I> TK_FN Place<Given<Counted>, I> group_rows(CounterOf<I> group) { return (group - 4) * 16; }

// --- A thread's outputs: the row of the 16 of its group of 32 threads, and the column of the tile.
template <class I> TK_FN Place<Given<Counted>, I> sum_row(CounterOf<I> lane, CounterOf<I> i) {
  return lane / 4 + i / 2 % 2 * 8;
}
template <class I> TK_FN Place<Given<Counted>, I> sum_col(CounterOf<I> lane, CounterOf<I> i) {
  return i / 4 * 8 + lane % 4 * 2 + i % 2;
}
template <class I>
TK_FN auto product_row(Place<Corner, I> tile, CounterOf<I> rows, CounterOf<I> row)
    -> Place<Row, decltype(as_long(I(0)))> {
  return as_long(tile + rows + row);
}
template <class I>
TK_FN auto product_col(Place<Corner, I> tile, CounterOf<I> col) -> Place<Column, decltype(as_long(I(0)))> {
  return as_long(tile + col);
}
// The corner of a box of outputs.
template <class I> TK_FN Place<Corner, I> box_corner(Place<Corner, I> tile, CounterOf<I> by, int size) {
  return tile + by * size;
}
// Staged outputs: rows of 128 bytes, whose eight pieces of 16 bytes lie crossed with the row, as the copy engine takes
// them.
template <class I> TK_FN Place<Begin<OutWord>, I> box_begin(CounterOf<I> group, CounterOf<I> box, int boxes) {
  return ((group - 4) * boxes + box % boxes) * (kBoxBytes / 4);
}
template <class I> TK_FN I crossed_piece(I row, I piece) { return row * 8 + crossed(piece, I(row % 8)); }
template <class I> TK_FN Place<OutWord, I> out_word(CounterOf<I> row, CounterOf<I> word) {
  return crossed_piece(I(row), I(word / 4)) * 4 + word % 4;
}
// The same as elements of so many bytes.
template <class I>
TK_FN Place<Begin<OutElement>, I> element_box_begin(CounterOf<I> group, CounterOf<I> box, int boxes, int bytes) {
  return ((group - 4) * boxes + box % boxes) * (kBoxBytes / bytes);
}
template <class I> TK_FN Place<OutElement, I> out_element(CounterOf<I> row, CounterOf<I> col, int bytes) {
  return crossed_piece(I(row), I(col / (16 / bytes))) * (16 / bytes) + col % (16 / bytes);
}
template <class I> TK_FN Place<Given<Counted>, I> col_in_box(CounterOf<I> col, int cols) { return col % cols; }
template <class I> TK_FN Place<Given<Counted>, I> lane_in_turn(CounterOf<I> turn, CounterOf<I> lane) {
  return turn * 32 + lane;
}
template <class I> TK_FN Place<Given<Counted>, I> counted_on(CounterOf<I> first, CounterOf<I> by) { return first + by; }
// What a lane gives the place of when matrices are stored: rows, and 16 columns from i's on.
template <class I> TK_FN Place<OutWord, I> matrix_word(CounterOf<I> lane, CounterOf<I> i) {
  return crossed_piece(I(lane % 16), I(i % 32 / 4 + lane / 16)) * 4;
}

// --- Scales: within 64 lines those of the columns that one thread has lie together.
template <class I> TK_FN I scale_order(I line) {
  return line / 64 * 64 + line / 2 % 4 * 16 + line / 8 % 8 * 2 + line % 2;
}
template <class I> TK_FN Place<Begin<ScaleHalf>, I> slot_scales(CounterOf<I> slot, int scale_bytes) {
  return slot * (scale_bytes / 2);
}
template <class I> TK_FN Place<ScaleHalf, I> row_scale(CounterOf<I> rows, CounterOf<I> row) {
  return scale_order(I(rows + row));
}
template <class I> TK_FN Place<ScaleHalf, I> first_scale(I behind) { return behind + 0; }
// Of eight columns from the i-th four of a thread's sums on.
template <class I> TK_FN Place<ScaleHalf, I> col_scales(CounterOf<I> lane, CounterOf<I> i) {
  return kTileRows + i / 8 * 64 + lane % 4 * 16 + i % 8 * 2;
}

// --- Groups. A group's rows lie in slots of its own, so many rows each, one group's behind the other's. A table says
// which slot is a group's first, and of a slot whose it is, which row is its first, and where the group ends.
template <class L> TK_FN Place<Begin<Row>, L> first_slots_begin(L bytes_before) { return bytes_before / 4; }
template <class L> TK_FN Place<Begin<SlotWord>, L> slots_begin(L bytes_before) { return bytes_before / 4; }
template <class L> TK_FN Place<SlotWord, L> slot_word(Place<Row, L> slot) { return slot * 4; }
// The slot behind a group's, and the first row of a slot of it.
template <class L> TK_FN L slot_behind(L first, L begin, L end, int slot_rows) {
  return first + pieces_of(end - begin, slot_rows);
}
template <class L> TK_FN L slot_first(L begin, L slot, L first, int slot_rows) {
  return begin + (slot - first) * slot_rows;
}
// The first of a thread's groups, which are neighbours.
template <class L, class I> TK_FN Place<Row, L> first_group_of(Place<Thread, I> thread, L each) {
  return thread * each;
}
template <class I> TK_FN auto slot_of_line(Place<ClusterLine, I> line) -> Place<Row, decltype(as_long(I(0)))> {
  return as_long(line);
}
template <class L> TK_FN Place<Row, L> slot_of_row(Place<Row, L> row, int slot_rows) { return row / slot_rows; }
template <class L> TK_FN Place<Row, L> row_in_slot(Place<Row, L> row, int slot_rows) { return row % slot_rows; }
// What memory says, because a check has refused all else: a group, its first slot, and the first row of one or of a
// slot.
template <class I> TK_FN Place<Given<Counted>, I> given_group(I value, I count) {
  return TK_AS_PROVED(value, choose(value >= 0 && value < count, value, I(0)));
}
template <class I> TK_FN Place<Corner, I> given_corner(I value, I count) {
  return TK_AS_PROVED(value, choose(value >= 0 && value < count, value, I(0)));
}
template <class I> TK_FN Place<ClusterLine, I> given_slot(I value, I count) {
  return TK_AS_PROVED(value, choose(value >= 0 && value < count, value, I(0)));
}
template <class I> TK_FN Place<Corner, I> corner_behind(Place<Corner, I> first, CounterOf<I> by, int extent) {
  return first + by * extent;
}
// Where the groups are summed over: the matrix that a line of tiles is of, and its line there.
template <class I> TK_FN Place<Given<Counted>, I> matrix_of_line(Place<ClusterLine, I> line, I down) {
  return line / down;
}
template <class I> TK_FN Place<ClusterLine, I> line_in_matrix(Place<ClusterLine, I> line, I down) {
  return line % down;
}
template <class I> TK_FN Place<Corner, I> scale_behind(Place<Corner, I> first, CounterOf<I> block, int slot_rows) {
  return first / slot_rows + block;
}
// A plane of a matrix, and a row.
template <class I> TK_FN Place<Given<Counted>, I> matrix_plane(CounterOf<I> matrix, CounterOf<I> plane, int planes) {
  return matrix * planes + plane;
}
template <class L> TK_FN Place<Row, L> row_of_matrix(Place<Row, L> matrix, L rows, Place<Row, L> row) {
  return matrix * rows + row;
}
// Behind a group's last row in its slot: 256 threads clear boxes of 64 rows of 128 bytes, eight threads a row.
template <class I> TK_FN Place<Given<Counted>, I> cleared_row(I rows, Place<Thread, I> thread, CounterOf<I> turn) {
  return rows + (thread / 8 - 16) + turn * 32;
}
template <class I>
TK_FN Place<RingHalf, I> cleared_half(CounterOf<I> slot, int slot_bytes, CounterOf<I> box, CounterOf<I> row,
                                      Place<Thread, I> thread) {
  return slot * (slot_bytes / 2) + box * 4096 + row * 64 + thread % 8 * 8;
}

// --- Packed factors, in the workspace. Integers: planes[2][lines][inner, padded to 128] of bytes, high and low, and
// scales[blocks][lines, padded to 64]; the left factor's planes, the right one's, then their scales.
template <class L> TK_FN Place<Begin<PlaneWord>, L> planes_begin(L bytes_before) { return bytes_before / 4; }
template <class L> TK_FN Place<Begin<ScaleHalf>, L> packed_scales_begin(L bytes_before) { return bytes_before / 2; }
template <class L, class I>
TK_FN Place<PlaneWord, L> plane_word(CounterOf<I> plane, Place<Row, L> line, Place<Column, L> inner, L lines,
                                     L padded) {
  return ((plane * lines + line) * padded + inner) / 4;
}
template <class L> TK_FN Place<ScaleHalf, L> packed_scale(Place<Row, L> block, Place<Row, L> line, L padded) {
  return block * padded + scale_order(L(line));
}

// The tasks of a pass, of a launch at most, are numbered by ints: a GPU divides those in a fraction of the time.
template <class L> TK_FN L quotient(L task, L across) {
  return TK_AS_PROVED(as_long(as_int(task) / as_int(across)), task / across);
}
template <class L> TK_FN L remainder(L task, L across) {
  return TK_AS_PROVED(as_long(as_int(task) % as_int(across)), task % across);
}

// The matrix of a task where each has `per` of them, and the task there.
template <class L> TK_FN Place<Row, L> task_matrix(L task, L per) { return quotient(task, per); }

// A pass along the contracted index: a block of 256 threads takes 16 lines by `deep` blocks of 128, sixteen threads a
// line, eight elements each.
template <class L, class I> TK_FN Place<Row, L> pass_line(L task, L across, Place<Thread, I> thread) {
  return quotient(task, across) * 16 + thread / 16;
}
template <class L, class I> TK_FN Place<Row, L> pass_block(L task, L across, CounterOf<I> d, int deep) {
  return remainder(task, across) * deep + d;
}
template <class L, class I> TK_FN Place<Column, L> pass_inner(Place<Row, L> block, Place<Thread, I> thread) {
  return block * 128 + thread % 16 * 8;
}
// A pass across it: 128 of the contracted index by 64 lines, eight lines and four of that index a thread; bytes change
// their order in shared memory, where words are crossed so that neither side meets a bank twice.
template <class L> TK_FN Place<Row, L> turned_block(L task, L across) { return quotient(task, across); }
template <class L> TK_FN Place<Column, L> turned_line(L task, L across) { return remainder(task, across) * 64; }
template <class I> TK_FN Place<Given<Counted>, I> eight_of(Place<Thread, I> thread) { return thread % 8; }
template <class I> TK_FN Place<Given<Counted>, I> four_of(Place<Thread, I> thread) { return thread / 8; }
template <class L, class I> TK_FN Place<Row, L> turned_inner(Place<Row, L> block, CounterOf<I> four, CounterOf<I> i) {
  return block * 128 + four * 4 + i;
}
template <class L, class I> TK_FN Place<Column, L> turned_lines(Place<Column, L> first, CounterOf<I> eight) {
  return first + eight * 8;
}
template <class I> TK_FN Place<TurnedWord, I> turned_word(CounterOf<I> plane, CounterOf<I> line, CounterOf<I> four) {
  return (plane * 64 + line) * 32 + crossed(I(four / 4), I(line / 8 % 8)) * 4 + four % 4;
}
template <class I> TK_FN Place<Given<Counted>, I> line_of_eight(CounterOf<I> eight, CounterOf<I> j) {
  return eight * 8 + j;
}
template <class I> TK_FN Place<Given<Counted>, I> largest_place(CounterOf<I> group, CounterOf<I> word) {
  return group * 64 + word;
}
template <class I> TK_FN Place<Given<Counted>, I> word_of_eight(CounterOf<I> eight, CounterOf<I> word, int words) {
  return eight * words + word;
}
template <class I> TK_FN Place<Given<Counted>, I> line_of_thread(Place<Thread, I> thread) { return thread + 0; }
template <class I> TK_FN Place<Given<Counted>, I> word_of_line(CounterOf<I> line, int per) { return line / per; }
// Who writes what has been turned: eight threads a line's 128 bytes, 32 lines of both planes at a time.
template <class I> TK_FN Place<Given<Counted>, I> written_line(CounterOf<I> turn, CounterOf<I> four) {
  return (turn * 32 + four) % 64;
}
template <class I> TK_FN Place<Given<Counted>, I> written_plane(CounterOf<I> turn, CounterOf<I> four) {
  return (turn * 32 + four) / 64;
}
template <class L, class I> TK_FN Place<Row, L> line_behind(Place<Column, L> first, CounterOf<I> line) {
  return first + line;
}
template <class L, class I> TK_FN Place<Column, L> inner_piece(Place<Row, L> block, CounterOf<I> eight) {
  return block * 128 + eight * 16;
}
template <class I> TK_FN Place<Given<Counted>, I> first_four(CounterOf<I> eight) { return eight * 4; }

// --- Halves in rows that begin at multiples of 16 bytes: a block of 256 threads copies two rows of 512 pieces of
// eight.
template <class L, class I> TK_FN Place<Row, L> repacked_row(L task, L across, CounterOf<I> i) {
  return quotient(task, across) * 2 + i / 2;
}
template <class L, class I>
TK_FN Place<Column, L> repacked_col(L task, L across, Place<Thread, I> thread, CounterOf<I> i) {
  return (remainder(task, across) * 512 + i % 2 * 256 + thread) * 8;
}
template <class L> TK_FN Place<PlaneWord, L> repacked_word(Place<Row, L> row, Place<Column, L> col, L pieces) {
  return row * pieces * 4 + col / 2;
}
// From a place that is no multiple of eight, the one before it that is.
template <class L> TK_FN Place<Column, L> aligned_col(Place<Column, L> col, int skew) { return col - skew; }

}  // namespace tokitai::device

// The index functions that claims are about: the device's own text, run with symbols. They are pointers, so that a test
// can put one that is broken on purpose in the place of a good one; members are named as the functions are.
#pragma once
#include "machines/device/list_sum_shape.h"
#include "machines/device/place_each.h"
#include "machines/device/place_fragments.h"
#include "machines/device/place_list_sum.h"
#include "machines/device/place_product.h"
#include "machines/device/place_row.h"
#include "machines/device/place_segment.h"
#include "machines/device/place_sort.h"
#include "machines/device/place_tile.h"
#include "machines/device/row_shape.h"
#include "proofs/guards.h"

namespace tokitai::proofs {

using Int = Symbol<int>;
using Long = Symbol<i64>;

struct Functions {
  Int (*at_most)(Long, int) = device::at_most;
  Long (*left_of)(Long, Long) = device::left_of;
  Int (*lane_in_group)(Int) = device::lane_in_group;
  Int (*group_of_thread)(Int) = device::group_of_thread;
  Long (*row_of_group)(Int) = device::row_of_group;
  Long (*worker_of)(Int, int) = device::worker_of;
  Long (*workers_of)(Int, int) = device::workers_of;
  Long (*asked_step)(Int, int) = device::asked_step;
  Long (*row_ahead)(Long, int, Long, Long, Long) = device::row_ahead;
  Long (*position_of)(Long, Int) = device::position_of;
  Int (*offset_of)(Long, Long) = device::offset_of;
  Long (*given_row)(Long, Long) = device::given_row;
  Long (*given_column)(Long, Long) = device::given_column;
  Long (*clamped_row)(Long, Long) = device::clamped_row;
  Int (*other_side)(Int) = device::other_side;
  Int (*next_slot)(Int, int) = device::next_slot;
  Long (*row_begin)(Long, Long) = device::row_begin;
  Long (*place_in_row)(Long, Long) = device::place_in_row;
  Long (*in_first_row)(Long) = device::in_first_row;
  Long (*matrix_place)(Long, Long, Long) = device::matrix_place;

  // --- each
  Int (*middle_of)(Int, Int) = device::middle_of;
  Int (*last_of_list)(Int) = device::last_of_list;
  Int (*before_middle)(Int) = device::before_middle;
  Long (*piece_begin)(Long, Long, int, int, int) = device::piece_begin;
  Long (*vector_begin)(Long, Int, Int, int, int) = device::vector_begin;
  Long (*lane_column)(Long, Int, Int, int, int) = device::lane_column;
  Long (*first_of_pair)(Long, int) = device::first_of_pair;
  Long (*second_of_pair)(Long, int) = device::second_of_pair;
  Long (*side_by_side)(Long) = device::side_by_side;
  Long (*table_column)(Long, int) = device::table_column;

  // --- list_sum
  Int (*block_in_chain)(Int, Int, int) = device::block_in_chain;
  Long (*summed_vector)(Long, Int, Int, Int, int) = device::summed_vector;
  int (*chain_byte)() = device::chain_byte;
  int (*last_byte)() = device::last_byte;

  // --- row
  device::RowNumbers (*row_numbers)(const device::RowPlan&) = device::row_numbers;
  int (*vector_bytes)(const device::RowPlan&, int) = device::vector_bytes;
  int (*pieces_of_operand)(const device::RowPlan&, int) = device::pieces_of_operand;
  int (*pieces_before)(const device::RowPlan&, int) = device::pieces_before;
  device::ColumnRange (*columns_for)(const device::RowPlan&, int) = device::columns_for;
  Int (*held_block)(Int, int) = device::held_block;
  Int (*first_lane)(Int, int) = device::first_lane;
  Int (*column_of)(Int, Int, Int) = device::column_of;
  Int (*lane_of)(Int, Int) = device::lane_of;
  Int (*thread_in_team)(Int, int) = device::thread_in_team;
  Int (*team_of)(Int, int) = device::team_of;
  Int (*first_block_of)(Int, Int, int, int) = device::first_block_of;
  Int (*column_blocks)(Int) = device::column_blocks;
  Int (*existing)(Int, int) = device::existing;
  Truth (*whole_block)(Int, Int) = device::whole_block;
  device::ColumnPlace<Int> (*place_of_column)(Int) = device::place_of_column;
  Int (*owner_of_lane)(Int, int) = device::owner_of_lane;
  Int (*element_of_lane)(Int, int) = device::element_of_lane;
  Int (*piece_of)(Int, int) = device::piece_of;
  Int (*place_in_piece)(Int, int) = device::place_in_piece;
  Int (*part_of)(Int, Int, int) = device::part_of;
  Int (*lane_in_team)(Int) = device::lane_in_team;
  int (*cells_byte)(const device::RowPlan&) = device::cells_byte;
  int (*mailboxes_byte)(const device::RowPlan&) = device::mailboxes_byte;
  int (*box_byte)(const device::RowPlan&) = device::box_byte;
  int (*words_byte)(const device::RowPlan&) = device::words_byte;
  Int (*staged_cell)(Int, Int, Int, Int, int, int, int, int, int) = device::staged_cell;
  Int (*group_in_row)(Int, Int, int, int) = device::group_in_row;
  Int (*box_slot)(Int, Int, Int, Int) = device::box_slot;
  Int (*group_of_block)(Int, Int, Int, int) = device::group_of_block;
  Int (*picks_begin)(Int) = device::picks_begin;
  Long (*scratch_size)(Long, int, Int, int) = device::scratch_size;
  Long (*scratch_begin)(Int, Long) = device::scratch_begin;
  Long (*made_begin)(Long, int, Long) = device::made_begin;
  Long (*scratch_box)(Long, int, Long) = device::scratch_box;
  Long (*scratch_end)(Int, Long) = device::scratch_end;
  Long (*first_row_of)(Long, const Int&, int) = device::first_row_of;
  Long (*row_step)(Long, int) = device::row_step;
  Long (*row_of_thread)(Int) = device::row_of_thread;
  Long (*chain_begin)(Long) = device::chain_begin;
  Long (*chain_end)(Long, Long) = device::chain_end;
  Long (*partial_begin)(Int, Long, Long, Long) = device::partial_begin;
  Long (*chain_of)(Long) = device::chain_of;
  Long (*chained_row)(Long, Int) = device::chained_row;
  Long (*partial_begin_behind)(Long, Int, Long, Long, Long) = device::partial_begin_behind;
  Long (*values_begin)(Long) = device::values_begin;
  Long (*level_begin)(Long) = device::level_begin;
  Long (*sum_begin)(Int, Long, Long) = device::sum_begin;
  Long (*second_sum_begin)(Int, int, Long, Long, Long) = device::second_sum_begin;
  Long (*told_begin)(Long) = device::told_begin;
  Long (*sum_of)(Int, Long) = device::sum_of;
  Int (*sum_number)(Int, Long) = device::sum_number;
  Long (*summed_column)(Int, Int, Long) = device::summed_column;

  // --- segment
  device::SortSpaceOf<Long> (*sort_space)(Long, Long, Long, int) = device::sort_space;
  Long (*pairs_of_group)(Long, Long, int) = device::pairs_of_group;
  Long (*first_pair)(Int, Int, Long, int) = device::first_pair;
  Long (*pairs_end)(Long, Long, Long) = device::pairs_end;
  Long (*count_word)(Int, Long) = device::count_word;
  Int (*scanned_digit)(Int, Int, int) = device::scanned_digit;
  Int (*group_counts_word)(Int, int) = device::group_counts_word;
  Int (*group_digit)(Int, Int, int) = device::group_digit;
  Long (*copy_begin)(Long, Int, Long) = device::copy_begin;
  Long (*partials_begin)(Long, Long) = device::partials_begin;
  Long (*count_place)(Int, Long, Long) = device::count_place;
  Int (*own_digit)(Int) = device::own_digit;
  Int (*digit_of_group)(Int, Int, int) = device::digit_of_group;
  Int (*digit_step)(Int, int) = device::digit_step;
  Long (*scanned_worker)(Long, Int) = device::scanned_worker;
  Long (*given_digit)(Long, int) = device::given_digit;
  Long (*level_of)(Long) = device::level_of;
  int (*counts_byte)() = device::counts_byte;
  int (*bases_byte)(int, int) = device::bases_byte;
  int (*sums_byte)(int, int) = device::sums_byte;
  int (*rows_byte)(int, int) = device::rows_byte;
  Long (*first_item)(Int, Int, int) = device::first_item;
  Long (*item_step)(Int, int) = device::item_step;
  Long (*slabs_of)(Long, int) = device::slabs_of;
  Long (*slab_column)(Long, Long, Int, int) = device::slab_column;
  Long (*window_begin)(Long) = device::window_begin;
  Long (*window_of)(Long, Long) = device::window_of;
  Long (*window_in_round)(Long, Int, int) = device::window_in_round;
  Long (*copied_column)(Long, Int, Int, int) = device::copied_column;
  Truth (*starts_chain)(Long, Long, Long) = device::starts_chain;
  Long (*chain_stop)(Long, Long) = device::chain_stop;
  Long (*next_span)(const Long&) = device::next_span;
  Long (*position_before)(Long, Long) = device::position_before;
  Long (*joined_position)(Long, Int, Long) = device::joined_position;
  Long (*joined_step)(int, Long) = device::joined_step;
  Long (*joined_stop)(Long, Long, Long) = device::joined_stop;
  Long (*partial_row_of)(Long, Long) = device::partial_row_of;
  Int (*row_cell)(Int, Int, int) = device::row_cell;

  // --- tile
  device::TileShape (*tile_shape)(const device::TilePlan&) = device::tile_shape;
  device::LoaderShape (*loader_shape)(const device::TilePlan&, int, bool, int) = device::loader_shape;
  Long (*tile_first_row)(Int, Long, int) = device::tile_first_row;
  Long (*tile_first_col)(Int, Long, int) = device::tile_first_col;
  Long (*line_of_tiles)(Int, Long) = device::line_of_tiles;
  Long (*tile_row_in_matrix)(Long, Long, int) = device::tile_row_in_matrix;
  Int (*tile_row)(Int, Int, int, int, int) = device::tile_row;
  Int (*tile_col)(Int, Int, int, int, int) = device::tile_col;
  Int (*first_of_four)(Int) = device::first_of_four;
  Long (*output_row)(Long, Int) = device::output_row;
  Long (*output_col)(Long, Int) = device::output_col;
  Int (*vector_of)(Int, Int, int) = device::vector_of;
  Int (*vector_outer)(Int, bool, int, int) = device::vector_outer;
  Int (*vector_inner)(Int, bool, int, int) = device::vector_inner;
  Int (*staged_word)(Int, Int, int) = device::staged_word;
  Int (*staged_element)(Int, bool, int) = device::staged_element;
  Int (*stage_begin)(Int, int) = device::stage_begin;
  int (*second_factor)(int, int) = device::second_factor;
  Int (*line_begin)(Int, int) = device::line_begin;
  Long (*in_tile)(Long, Int) = device::in_tile;
  Long (*stored_row)(bool, Long, Long) = device::stored_row;
  Long (*stored_col)(bool, Long, Long) = device::stored_col;
  Long (*stored_step)(Long, int) = device::stored_step;
  Long (*chain_next)(Long, int) = device::chain_next;
  int (*factors_byte)() = device::factors_byte;

  // --- product
  device::ProductShape (*product_shape)(const device::ProductPlan&) = device::product_shape;
  Int (*first_cluster)(Int, int) = device::first_cluster;
  Int (*clusters_of)(Int, int) = device::clusters_of;
  Int (*band_begin)(Int, Int, int) = device::band_begin;
  Int (*band_rows)(Int, Int, int) = device::band_rows;
  Int (*walked_row)(Int, Int, Int, int) = device::walked_row;
  Int (*walked_col)(Int, Int, Int, int) = device::walked_col;
  Int (*rank_below)(Int, int) = device::rank_below;
  Int (*rank_beside)(Int, int) = device::rank_beside;
  Int (*tile_corner)(Int, Int, int, int) = device::tile_corner;
  Int (*slot_half)(Int, int, int, Int) = device::slot_half;
  Int (*part_corner)(Int, Int) = device::part_corner;
  Int (*slot_corner)(Int, int) = device::slot_corner;
  Int (*part_line)(Int, Int, int) = device::part_line;
  Int (*rows_half)(Int) = device::rows_half;
  Int (*step_half)(Int, bool) = device::step_half;
  Int (*free_gate)(Int, int) = device::free_gate;
  Int (*group_rows)(Int) = device::group_rows;
  Int (*sum_row)(Int, Int) = device::sum_row;
  Int (*sum_col)(Int, Int) = device::sum_col;
  Long (*product_row)(Int, Int, Int) = device::product_row;
  Long (*product_col)(Int, Int) = device::product_col;
  Int (*box_corner)(Int, Int, int) = device::box_corner;
  Int (*box_begin)(Int, Int, int) = device::box_begin;
  Int (*out_word)(Int, Int) = device::out_word;
  Int (*element_box_begin)(Int, Int, int, int) = device::element_box_begin;
  Int (*out_element)(Int, Int, int) = device::out_element;
  Int (*col_in_box)(Int, int) = device::col_in_box;
  Int (*lane_in_turn)(Int, Int) = device::lane_in_turn;
  Int (*counted_on)(Int, Int) = device::counted_on;
  Int (*matrix_word)(Int, Int) = device::matrix_word;
  Int (*scale_order)(Int) = device::scale_order;
  Int (*slot_scales)(Int, int) = device::slot_scales;
  Int (*row_scale)(Int, Int) = device::row_scale;
  Int (*first_scale)(Int) = device::first_scale;
  Int (*col_scales)(Int, Int) = device::col_scales;
  int (*ring_byte)() = device::ring_byte;
  int (*staging_byte)(const device::ProductPlan&) = device::staging_byte;
  int (*staged_elements_byte)(const device::ProductPlan&) = device::staged_elements_byte;
  int (*scales_byte)(const device::ProductPlan&) = device::scales_byte;
  int (*gates_byte)(const device::ProductPlan&) = device::gates_byte;

  // --- product, groups
  Long (*slot_behind)(Long, Long, Long, int) = device::slot_behind;
  Long (*slot_first)(Long, Long, Long, int) = device::slot_first;
  Long (*first_slots_begin)(Long) = device::first_slots_begin;
  Long (*slots_begin)(Long) = device::slots_begin;
  Long (*first_group_of)(Int, Long) = device::first_group_of;
  int (*slot_counts_byte)() = device::slot_counts_byte;
  Long (*slot_word)(Long) = device::slot_word;
  Long (*slot_of_line)(Int) = device::slot_of_line;
  Long (*slot_of_row)(Long, int) = device::slot_of_row;
  Long (*row_in_slot)(Long, int) = device::row_in_slot;
  Int (*given_group)(Int, Int) = device::given_group;
  Int (*given_corner)(Int, Int) = device::given_corner;
  Int (*corner_behind)(Int, Int, int) = device::corner_behind;
  Int (*matrix_of_line)(Int, Int) = device::matrix_of_line;
  Int (*line_in_matrix)(Int, Int) = device::line_in_matrix;
  Int (*given_slot)(Int, Int) = device::given_slot;
  Int (*scale_behind)(Int, Int, int) = device::scale_behind;
  Int (*matrix_plane)(Int, Int, int) = device::matrix_plane;
  Long (*row_of_matrix)(Long, Long, Long) = device::row_of_matrix;
  Int (*cleared_row)(Int, Int, Int) = device::cleared_row;
  Int (*cleared_half)(Int, int, Int, Int, Int) = device::cleared_half;
  Long (*task_matrix)(Long, Long) = device::task_matrix;
  Long (*slots_of)(Long, Long, int) = device::slots_of;
  Long (*first_slots_bytes)(Long) = device::first_slots_bytes;
  Long (*slot_table_bytes)(Long, Long) = device::slot_table_bytes;

  // --- product, what is packed before it
  device::Packing<Long> (*packing_of)(const device::PackPlan&, bool, bool, Long, Long, Long, Long) = device::packing_of;
  Long (*planes_begin)(Long) = device::planes_begin;
  Long (*packed_scales_begin)(Long) = device::packed_scales_begin;
  Long (*plane_word)(Int, Long, Long, Long, Long) = device::plane_word;
  Long (*packed_scale)(Long, Long, Long) = device::packed_scale;
  Long (*quotient)(Long, Long) = device::quotient;
  Long (*remainder)(Long, Long) = device::remainder;
  Long (*pass_line)(Long, Long, Int) = device::pass_line;
  Long (*pass_block)(Long, Long, Int, int) = device::pass_block;
  Long (*pass_inner)(Long, Int) = device::pass_inner;
  Long (*turned_block)(Long, Long) = device::turned_block;
  Long (*turned_line)(Long, Long) = device::turned_line;
  Int (*eight_of)(Int) = device::eight_of;
  Int (*four_of)(Int) = device::four_of;
  Long (*turned_inner)(Long, Int, Int) = device::turned_inner;
  Long (*turned_lines)(Long, Int) = device::turned_lines;
  Int (*turned_word)(Int, Int, Int) = device::turned_word;
  Int (*line_of_eight)(Int, Int) = device::line_of_eight;
  Int (*largest_place)(Int, Int) = device::largest_place;
  Int (*word_of_eight)(Int, Int, int) = device::word_of_eight;
  Int (*line_of_thread)(Int) = device::line_of_thread;
  Int (*word_of_line)(Int, int) = device::word_of_line;
  Int (*written_line)(Int, Int) = device::written_line;
  Int (*written_plane)(Int, Int) = device::written_plane;
  Long (*line_behind)(Long, Int) = device::line_behind;
  Long (*inner_piece)(Long, Int) = device::inner_piece;
  Int (*first_four)(Int) = device::first_four;
  Long (*repacked_row)(Long, Long, Int) = device::repacked_row;
  Long (*repacked_col)(Long, Long, Int, Int) = device::repacked_col;
  Long (*repacked_word)(Long, Long, Long) = device::repacked_word;
  Long (*aligned_col)(Long, int) = device::aligned_col;
  Long (*padded_inner)(Long) = device::padded_inner;
  Long (*padded_lines)(Long) = device::padded_lines;
  Long (*planes_bytes)(Long, Long) = device::planes_bytes;
  Long (*scales_bytes)(Long, Long) = device::scales_bytes;
  Long (*row_pieces)(Long) = device::row_pieces;
  Long (*repacked_bytes)(Long, Long) = device::repacked_bytes;
  Long (*repacks_of)(Long, Long) = device::repacks_of;
  Long (*passes_across)(Long, Long) = device::passes_across;
  Long (*passes_along)(Long, Long, int) = device::passes_along;
  int (*turned_byte)() = device::turned_byte;
  int (*largest_byte)() = device::largest_byte;
  int (*ups_byte)() = device::ups_byte;
  int (*marked_byte)() = device::marked_byte;

  // --- Barriers and steps of loops, as the kernels write them.

  // --- product of integers, by waves
  Int (*wave_of)(Int, Fragment) = device::wave_of;
  Int (*lane_in_wave)(Int, Fragment) = device::lane_in_wave;
  Int (*turn_line)(Int, int) = device::turn_line;
  Int (*turn_plane)(Int, int) = device::turn_plane;
  Int (*brought_line)(Int, Int) = device::brought_line;
  Int (*brought_piece)(Int) = device::brought_piece;
  Int (*line_behind_left)(Int) = device::line_behind_left;
  Int (*line_on_right)(Int) = device::line_on_right;
  Int (*fetched_line)(Int, Int, Int) = device::fetched_line;
  Long (*plane_begin)(Long, Int, Long, Long) = device::plane_begin;
  Long (*packed_piece)(Int, Int, Int, Int) = device::packed_piece;
  Int (*staged_piece)(Int, Int, Int, Int, int) = device::staged_piece;
  Int (*pieces_behind)(Int, Int, int) = device::pieces_behind;
  Int (*scaled_line)(Int) = device::scaled_line;
  Long (*fetched_scale)(Int, Int, Int) = device::fetched_scale;
  Int (*staged_scale)(Int, Int, int) = device::staged_scale;
  Int (*wave_row)(Int, int, int) = device::wave_row;
  Int (*wave_col)(Int, int, int) = device::wave_col;
  Int (*wave_line)(Int, Int) = device::wave_line;
  Int (*half_begin)(Int, int) = device::half_begin;
  Int (*fragment_begin)(Int, int) = device::fragment_begin;
  Int (*fragment_line)(Int, int, Int) = device::fragment_line;
  Int (*left_line)(Int, Int, Fragment) = device::left_line;
  Int (*right_line)(Int, Int, Fragment) = device::right_line;
  Int (*left_piece)(Int, Int, Int, Fragment) = device::left_piece;
  Int (*right_piece)(Int, Int, Int, Fragment) = device::right_piece;
  Int (*fragment_row)(Int, Int, Fragment) = device::fragment_row;
  Int (*fragment_col)(Int, Int, Fragment) = device::fragment_col;
  int (*pieces_byte)() = device::pieces_byte;
  int (*line_scales_byte)(const device::FragmentPlan&) = device::line_scales_byte;

  bool (*scan_adds)(int, int) = proofs::scan_adds;
  Long (*slot_of_position)(const Long&, int) = proofs::slot_of_position;
  Long (*ring_phase)(const Long&, const Long&) = proofs::ring_phase;
  Schedule (*box_schedule)(const Long&) = proofs::box_schedule;
  Schedule (*workspace_schedule)(const Long&) = proofs::workspace_schedule;
  Schedule (*stage_schedule)(const Long&) = proofs::stage_schedule;
  PassSchedule (*pass_schedule)(const Long&) = proofs::pass_schedule;
};

}  // namespace tokitai::proofs

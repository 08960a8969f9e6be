// The index functions that claims are about: the device's own text, run with symbols. They are pointers, so that a test
// can put one that is broken on purpose in the place of a good one; members are named as the functions are.
#pragma once
#include "machines/device/place_each.h"
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

  // --- each
  Int (*middle_of)(Int, Int) = device::middle_of;
  Long (*piece_begin)(Long, Long, int, int, int) = device::piece_begin;
  Long (*vector_begin)(Long, Int, Int, int, int) = device::vector_begin;

  // --- row
  device::RowNumbers (*row_numbers)(const device::RowPlan&) = device::row_numbers;
  device::ColumnRange (*columns_for)(const device::RowPlan&, int) = device::columns_for;
  Int (*held_block)(Int, int) = device::held_block;
  Int (*first_lane)(Int, int) = device::first_lane;
  Int (*column_of)(Int, Int, Int) = device::column_of;
  Int (*thread_in_team)(Int, int) = device::thread_in_team;
  Int (*team_of)(Int, int) = device::team_of;
  Int (*first_block_of)(Int, Int, int, int) = device::first_block_of;
  Int (*column_blocks)(Int) = device::column_blocks;
  Int (*existing)(Int, int) = device::existing;
  Truth (*whole_block)(Int, Int) = device::whole_block;
  device::ColumnPlace<Int> (*place_of_column)(Int) = device::place_of_column;
  Int (*owner_of_lane)(Int, int) = device::owner_of_lane;
  Int (*element_of_lane)(Int, int) = device::element_of_lane;
  Int (*staged_cell)(Int, Int, Int, Int, Int, int, int, int, int) = device::staged_cell;
  Int (*group_in_row)(Int, Int, int, int) = device::group_in_row;
  Int (*box_slot)(Int, Int, Int, Int) = device::box_slot;
  Long (*scratch_size)(Long, Int, int) = device::scratch_size;
  Long (*first_row_of)(Long, const Int&, int) = device::first_row_of;
  Long (*chain_begin)(Long) = device::chain_begin;
  Long (*chain_end)(Long, Long) = device::chain_end;
  Long (*partial_begin)(Int, Long, Long, Long) = device::partial_begin;
  Long (*sum_of)(Int, Long) = device::sum_of;
  Long (*summed_column)(Int, Int, Long) = device::summed_column;

  // --- segment
  device::SortSpaceOf<Long> (*sort_space)(Long, Long, Long, int) = device::sort_space;
  Long (*pairs_of_group)(Long, Long, int) = device::pairs_of_group;
  Long (*first_pair)(Int, Int, Long, int) = device::first_pair;
  Long (*pairs_end)(Long, Long, Long) = device::pairs_end;
  Long (*count_word)(Int, Long) = device::count_word;
  Int (*scanned_digit)(Int, Int, int) = device::scanned_digit;
  Int (*group_counts_word)(Int, int) = device::group_counts_word;
  Long (*first_item)(Int, Int, int) = device::first_item;
  Long (*item_step)(Int, int) = device::item_step;
  Long (*slabs_of)(Long, int) = device::slabs_of;
  Long (*slab_column)(Long, Long, Int, int) = device::slab_column;
  Long (*window_begin)(Long) = device::window_begin;
  Long (*copied_column)(Long, Int, Int, int) = device::copied_column;
  Truth (*starts_chain)(Long, Long, Long) = device::starts_chain;
  Long (*chain_stop)(Long, Long) = device::chain_stop;
  Long (*joined_stop)(Long, Long, Long) = device::joined_stop;
  Long (*partial_row_of)(Long, Long) = device::partial_row_of;
  Int (*row_cell)(Int, Int, int) = device::row_cell;

  // --- tile
  device::TileShape (*tile_shape)(const device::TilePlan&) = device::tile_shape;
  device::LoaderShape (*loader_shape)(const device::TilePlan&, int, bool, int) = device::loader_shape;
  Long (*tile_first_row)(Int, Long, int) = device::tile_first_row;
  Long (*tile_first_col)(Int, Long, int) = device::tile_first_col;
  Int (*tile_row)(Int, Int, int, int, int) = device::tile_row;
  Int (*tile_col)(Int, Int, int, int, int) = device::tile_col;
  Int (*vector_of)(Int, Int, int) = device::vector_of;
  Int (*vector_outer)(Int, bool, int, int) = device::vector_outer;
  Int (*vector_inner)(Int, bool, int, int) = device::vector_inner;
  Int (*staged_word)(Int, Int, int) = device::staged_word;

  // --- Barriers and steps of loops, as the kernels write them.

  bool (*scan_adds)(int, int) = proofs::scan_adds;
  Long (*slot_of_position)(const Long&, int) = proofs::slot_of_position;
  Schedule (*box_schedule)(const Long&) = proofs::box_schedule;
  Schedule (*workspace_schedule)(const Long&) = proofs::workspace_schedule;
  Schedule (*stage_schedule)(const Long&) = proofs::stage_schedule;
  PassSchedule (*pass_schedule)(const Long&) = proofs::pass_schedule;
};

}  // namespace tokitai::proofs

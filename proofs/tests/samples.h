// Parts of plans that broken index functions are tried on: small ones of every kind.
#pragma once
#include <algorithm>

#include "machines/device/list_sum_shape.h"
#include "machines/device/product_shape.h"
#include "machines/device/row_shape.h"
#include "machines/device/segment_shape.h"
#include "machines/device/tile_shape.h"
#include "proofs/subject.h"

namespace tokitai::proofs {

inline device::RowPlan row_plan(int wide, int chunks, int threads, int teams, int cluster, device::Guard guard,
                                bool on_chip) {
  device::RowPlan p{};
  p.kinds = 0x33, p.staged = 3, p.made = 3, p.wide = wide, p.chunks = chunks, p.threads = threads, p.teams = teams;
  p.cluster = cluster, p.stages = 2, p.guard = guard, p.on_chip = on_chip;
  return p;
}
inline RowMemory row_memory(const device::RowPlan& p) {
  const device::RowNumbers n = device::row_numbers(p);
  const int groups = n.team / 32 * p.cluster;
  return {p, n.staged_bytes + (p.cluster > 1 ? 16 + 4 * p.threads : 0) + std::max(p.on_chip ? 24 * groups : 0, 256)};
}
inline device::TilePlan tile_plan(int rows, int cols, int thread_rows, int thread_cols, device::Kind kind, int access) {
  return {static_cast<std::uint32_t>(kind), rows, cols, 16, thread_rows, thread_cols, {access, 0, 0}};
}
inline ProductRing product_ring(Arithmetic arithmetic, int cols, int slots, int below, int beside, bool left,
                                bool right) {
  device::ProductPlan p{};
  p.arithmetic = arithmetic, p.cols = cols, p.slots = slots, p.cluster_rows = below, p.cluster_cols = beside;
  p.boxes = arithmetic == Arithmetic::block15 ? 1 : 2, p.result = 2;
  return {p, {left, right}, device::product_shape(p).bytes};
}
inline ProductGroups product_groups(Arithmetic arithmetic, device::Grouped grouped, int below) {
  ProductGroups groups{product_ring(arithmetic, 192, 4, below, 3 - below, false, false).plan};
  groups.plan.grouped = grouped;
  return groups;
}
inline PackedSpace packed_space(Arithmetic arithmetic, device::Grouped grouped, int slot_rows) {
  const bool sums = grouped == device::Grouped::sums, integers = arithmetic == Arithmetic::block15;
  PackedSpace space{{0, arithmetic, {true, true}, {false, false}, grouped, slot_rows}, {}};
  space.along[0] = !integers && sums, space.along[1] = !integers && (sums || slot_rows > 0);
  return space;
}

inline std::vector<Part> samples() {
  using device::Guard;
  using device::Kind;
  device::EachPlan each{};
  each.wide = 4, each.turns = 3, each.threads = 128;
  device::EachPlan rows = each;
  rows.turns = 2, rows.lanes = 16, rows.period = 12;
  const device::TilePlan small = tile_plan(64, 64, 4, 4, Kind::f32, 8),
                         large = tile_plan(256, 128, 16, 8, Kind::f16, 16);
  const auto shared = [](const device::TilePlan& p) { return 2 * device::tile_shape(p).buffer * 4; };
  device::RowPlan mixed = row_plan(4, 8, 128, 1, 1, Guard::none, true);
  mixed.kinds = 0x13;  // an f32 row beside an f16 one
  SegmentRows sums{256, 4, 8, 5, 16, 0, false, false};
  sums.shared_bytes = device::sort_shared_words(8, 32) * 4 + 8 * 256 * 16;
  return {EachElements{each},
          EachElements{rows},
          ListSums{4, 256, device::list_sum_shared_bytes()},
          ListSums{8, 128, device::list_sum_shared_bytes()},
          RowColumns{row_plan(4, 8, 128, 1, 1, Guard::elements, true)},
          RowColumns{row_plan(8, 8, 96, 1, 2, Guard::vectors, true)},
          RowColumns{row_plan(8, 8, 64, 1, 1, Guard::elements, false)},
          row_memory(row_plan(4, 8, 128, 1, 1, Guard::none, true)),
          row_memory(row_plan(8, 2, 256, 8, 1, Guard::none, true)),
          row_memory(mixed),
          row_memory(row_plan(8, 8, 96, 1, 2, Guard::none, true)),
          row_memory(row_plan(4, 8, 128, 1, 1, Guard::none, false)),
          RowTeams{8},
          RowSums{3},
          SegmentSort{256, 5},
          SegmentSort{256, 9},
          sums,
          SegmentRows{256, 8, 0, 0, 0, 0, true, true},
          SegmentSums{},
          TileOutputs{small, shared(small)},
          TileOutputs{large, shared(large)},
          TileGrid{64, 64, 1},
          TileGrid{256, 128, 4},
          TileGrid{64, 64, 1, device::Grouped::rows},
          TileGrid{128, 128, 4, device::Grouped::sums},
          TileFactor{small, false, false},
          TileFactor{large, true, true},
          TileChain{16, 0},
          TileChain{16, 128},
          ProductWalk{3},
          ProductTiles{256, 2, 1},
          ProductTiles{192, 1, 2},
          product_ring(Arithmetic::hopper, 256, 4, 2, 1, false, true),
          product_ring(Arithmetic::block15, 192, 5, 1, 2, false, false),
          ProductOutputs{256, 2, 2},
          ProductOutputs{192, 4, 1},
          ProductBox{2},
          ProductBox{4},
          ProductScales{192},
          SlotTable{0},
          SlotTable{128},
          SlotTable{256},
          product_groups(Arithmetic::hopper, device::Grouped::rows, 2),
          product_groups(Arithmetic::block15, device::Grouped::rows, 1),
          product_groups(Arithmetic::hopper, device::Grouped::sums, 1),
          product_groups(Arithmetic::block15, device::Grouped::sums, 2),
          packed_space(Arithmetic::block15, device::Grouped::no, 0),
          packed_space(Arithmetic::block15, device::Grouped::rows, 256),
          packed_space(Arithmetic::block15, device::Grouped::sums, 128),
          packed_space(Arithmetic::hopper, device::Grouped::no, 0),
          packed_space(Arithmetic::hopper, device::Grouped::rows, 128),
          packed_space(Arithmetic::hopper, device::Grouped::sums, 0),
          PackedGroups{256, false},
          PackedGroups{128, true},
          PackedFactor{false, false, 2, 0},
          PackedFactor{true, false, 4, device::kPackShared},
          PackedFactor{true, true, 2, device::kPackShared},
          FragmentStages{96, 2, 2 * (224 * 256 + 224 * 4)},
          FragmentWaves{Fragment::mma, 96},
          FragmentWaves{Fragment::mfma32, 64},
          FragmentWaves{Fragment::wmma11, 64},
          FragmentWaves{Fragment::dot4, 64}};
}

}  // namespace tokitai::proofs

// What is proved: parts of plans. A part holds the constants that its claims speak about and nothing else, so that what
// many plans have in common is proved once.
#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "machines/device/plans.h"

namespace tokitai::proofs {

// The elements of a list of tensors, or of the rows of one.
struct EachElements {
  device::EachPlan plan{};
};

// The elements of a sum over a list, and the blocks of its chains.
struct ListSums {
  int wide = 0, threads = 0;
  int shared_bytes = 0;  // asked for by the launch
};

// Which column of a row a thread owns.
struct RowColumns {
  device::RowPlan plan{};
};
// Threads of a block, its shared memory, and its part of the workspace.
struct RowMemory {
  device::RowPlan plan{};
  int shared_bytes = 0;  // asked for by the launch
};
// Which rows a team works on.
struct RowTeams {
  int teams = 1;
};
// Sums over columns, so many at once, and sums of one value per row.
struct RowSums {
  int sums = 0;
};

// The sort of indices.
struct SegmentSort {
  int threads = 0, digit_bits = 0;
};
// Which rows and columns a group of 32 threads works on, and the cells of rows on their way.
struct SegmentRows {
  int threads = 0, wide = 0, ahead = 0, digit_bits = 0;
  int row_bytes = 0;     // of a vector
  int shared_bytes = 0;  // asked for by the launch
  bool whole = false, gathers = false;
};
// Chains of equal indices and the levels that join them: sizes only.
struct SegmentSums {};

// Which outputs of a tile a thread owns, and both stages of the factors.
struct TileOutputs {
  device::TilePlan plan{};
  int shared_bytes = 0;  // asked for by the launch
};
// Which tile a block owns, and the stores of its outputs.
struct TileGrid {
  int rows = 0, cols = 0, out_vector = 1;
  device::Grouped grouped = device::Grouped::no;
};
// One factor's way into shared memory.
struct TileFactor {
  device::TilePlan plan{};   // operand 0 is the factor
  bool along_outer = false;  // memory runs along the output, not along the inner index
  bool is_b = false;         // its outer extent is the tile's columns
};
// The chain over the inner index, `inner` at a time.
struct TileChain {
  int inner = 0;
  int block = 0;  // inner indices that are staged twice, one after the other; 0: each is staged once
};

// A product on tensor cores: the order in which clusters take their tiles.
struct ProductWalk {
  int band = 0;
};
// The tiles of a cluster's blocks.
struct ProductTiles {
  int cols = 0, cluster_rows = 0, cluster_cols = 0;
};
// Shared memory, and both factors' way into its ring of slots.
struct ProductRing {
  device::ProductPlan plan{};
  bool along[2] = {};    // memory runs along the lines of the left factor, of the right one
  int shared_bytes = 0;  // asked for by the launch
};
// Which outputs of a tile a thread has, and the boxes that they are staged in.
struct ProductOutputs {
  int cols = 0, result = 0, boxes = 0;
};
// The places of one box, of outputs of so many bytes.
struct ProductBox {
  int result = 0;
};
// The scales of blocks of integers.
struct ProductScales {
  int cols = 0;
};
// Groups: the slots that their rows lie in, and the table of those.
struct SlotTable {
  int slot_rows = 0;
};
// The tiles of groups, and what the loader takes for them.
struct ProductGroups {
  device::ProductPlan plan{};
};
// What is packed before it, in the workspace: factors as integers, or their rows as they are.
struct PackedSpace {
  device::PackPlan plan{};
  bool along[2] = {};  // memory runs along the lines of the left factor, of the right one
};
// Which rows of groups a pass packs.
struct PackedGroups {
  int slot_rows = 0;
  bool sums = false;  // over a group's rows
};
// Who packs what of a factor.
struct PackedFactor {
  bool integers = false, along = false;  // memory runs along the lines
  int element_bytes = 0;
  int shared_bytes = 0;  // asked for by the launch
};

// Where waves multiply bytes by themselves: both factors' way into the stages in shared memory.
struct FragmentStages {
  int cols = 0, stages = 0;
  int shared_bytes = 0;  // asked for by the launch
};
// The waves of a tile, and what their lanes multiply and have.
struct FragmentWaves {
  Fragment fragment = Fragment::none;
  int cols = 0;
};

using Part = std::variant<EachElements, ListSums, RowColumns, RowMemory, RowTeams, RowSums, SegmentSort, SegmentRows,
                          SegmentSums, TileOutputs, TileGrid, TileFactor, TileChain, ProductWalk, ProductTiles,
                          ProductRing, ProductOutputs, ProductBox, ProductScales, SlotTable, ProductGroups, PackedSpace,
                          PackedGroups, PackedFactor, FragmentStages, FragmentWaves>;

struct Subject {
  Part part;
  int plans = 0;  // that it is a part of
};

struct Subjects {
  std::vector<Subject> parts;
  std::map<std::string, int> plans;  // different ones, by pattern
};

// "row" for a RowMemory.
std::string pattern_of(const Part& part);
// The constants in words, as a table shows them. Different parts have different words.
std::string words_of(const Part& part);

}  // namespace tokitai::proofs

// Cuts plans into the parts that claims speak about.
#include <variant>

#include "machines/device/product_shape.h"
#include "machines/device/row_shape.h"
#include "numerics/block15.h"
#include "proofs/planned.h"

namespace tokitai::proofs {
namespace {

struct Cutter {
  const Call& call;
  const device::Launch& launch;
  std::vector<Part> parts{};

  void operator()(const std::monostate&) {}
  void operator()(const device::SegmentPlan& p) {
    SegmentRows rows;
    rows.threads = p.threads, rows.wide = p.wide, rows.whole = p.whole, rows.gathers = p.gathers;
    if (!p.gathers) {
      rows.ahead = p.ahead, rows.digit_bits = p.digit_bits, rows.shared_bytes = launch.shared_bytes;
      rows.row_bytes = p.wide * static_cast<int>(size_of(call.operand(0).type));
      parts.emplace_back(SegmentSort{p.threads, p.digit_bits});
      parts.emplace_back(SegmentSums{});
    }
    parts.emplace_back(rows);
  }
  void operator()(const device::EachPlan& p) {
    device::EachPlan plan{};
    plan.wide = p.wide, plan.turns = p.turns, plan.threads = p.threads;
    plan.lanes = p.lanes, plan.period = p.period;
    parts.emplace_back(EachElements{plan});
    if (p.lanes != 0) parts.emplace_back(RowTeams{p.threads / p.lanes});
  }
  void operator()(const device::ListSumPlan& p) {
    for (const std::uint64_t kinds : p.kinds)
      if (kinds != 0)
        parts.emplace_back(ListSums{p.bytes / bytes_of(device::kind_at(kinds, 0)), p.threads, launch.shared_bytes});
    parts.emplace_back(RowSums{});  // the levels above the first
  }
  void operator()(const device::RowPlan& p) {
    device::RowPlan columns{};
    columns.wide = p.wide, columns.chunks = p.chunks, columns.cluster = p.cluster, columns.guard = p.guard;
    columns.on_chip = p.on_chip, columns.blind = p.blind;
    columns.threads = p.threads / p.teams, columns.teams = columns.stages = 1;
    parts.emplace_back(RowColumns{columns});

    device::RowPlan memory = columns;
    memory.threads = p.threads, memory.teams = p.teams, memory.stages = p.stages;
    memory.guard = device::Guard::none, memory.blind = false;
    // Of the staged operands their sizes, in their order; off chip how many rows are made.
    for (int i = 0, at = 0; p.on_chip && p.staged >> i != 0; ++i)
      if ((p.staged >> i) & 1u) {
        const auto size = bytes_of(device::kind_at(p.kinds, i)) == 2 ? device::Kind::f16 : device::Kind::f32;
        memory.staged |= 1u << at;
        memory.kinds |= static_cast<std::uint64_t>(size) << (4 * at++);
      }
    if (!p.on_chip) memory.made = (1u << device::count_set(p.made)) - 1u;
    parts.emplace_back(RowMemory{memory, launch.shared_bytes});

    if (p.sums == 0) parts.emplace_back(RowTeams{p.teams});
    if (p.sums != 0 || p.finishes) parts.emplace_back(RowSums{device::count_set(p.sums)});
  }
  // As the definitions say m.product: a is the factor that has the output's rows, b the one that has its columns.
  struct FactorShape {
    bool is_b, along;  // memory runs along the lines
  };
  FactorShape shape_of(int i) const {
    const auto& operands = call.contract->operands;
    const auto last = [](const OperandSpec& spec, int from_the_end) {
      return spec.shape[static_cast<std::size_t>(spec.rank() - from_the_end)];
    };
    const std::string_view rows = last(operands[2], 2), cols = last(operands[2], 1);
    const OperandSpec& factor = operands[static_cast<std::size_t>(i)];
    return {last(factor, 2) == cols || last(factor, 1) == cols, last(factor, 1) == rows || last(factor, 1) == cols};
  }
  void operator()(const device::ProductPlan& p) {
    const bool integers = p.arithmetic == Arithmetic::block15;
    parts.emplace_back(ProductWalk{p.band});
    parts.emplace_back(ProductTiles{p.cols, p.cluster_rows, p.cluster_cols});
    ProductRing ring{p, {}, launch.shared_bytes};
    ring.plan.kinds = 0, ring.plan.band = 0, ring.plan.result = 2;  // say nothing about the ring
    ring.plan.boxed = ring.plan.two_sums = false;
    ring.plan.offsets = -1;
    if (!device::clears(p)) ring.plan.grouped = device::Grouped::no;
    for (int i = 0; i < 2; ++i) ring.along[shape_of(i).is_b ? 1 : 0] = !integers && shape_of(i).along;
    parts.emplace_back(ring);
    parts.emplace_back(ProductOutputs{p.cols, p.result, p.boxes});
    parts.emplace_back(ProductBox{p.result});
    if (integers) parts.emplace_back(ProductScales{p.cols});
    if (p.grouped != device::Grouped::no) {
      ProductGroups groups{ring.plan};
      groups.plan.grouped = p.grouped, groups.plan.boxes = 1;
      parts.emplace_back(groups);
    }
  }
  void operator()(const device::PackPlan& p) {
    const bool integers = p.arithmetic == Arithmetic::block15;
    PackedSpace space{p, {}};
    space.plan.kinds = 0;  // says nothing about places
    for (bool& aligned : space.plan.aligned) aligned = false;
    for (int i = 0; i < 2; ++i) space.along[shape_of(i).is_b ? 1 : 0] = !integers && shape_of(i).along;
    parts.emplace_back(space);
    if (integers && p.grouped != device::Grouped::no)
      parts.emplace_back(PackedGroups{p.slot_rows, p.grouped == device::Grouped::sums});
    for (int i = 0; i < 2; ++i)
      if (p.packed[shape_of(i).is_b ? 1 : 0]) {
        PackedFactor packed{integers, integers && shape_of(i).along, bytes_of(device::kind_at(p.kinds, i)), 0};
        packed.shared_bytes = launch.shared_bytes;
        parts.emplace_back(packed);
      }
  }
  void operator()(const device::SlotPlan& p) { parts.emplace_back(SlotTable{p.slot_rows}); }
  void operator()(const device::FragmentPlan& p) {
    parts.emplace_back(ProductWalk{p.band});
    parts.emplace_back(ProductTiles{p.cols, 1, 1});
    parts.emplace_back(FragmentStages{p.cols, p.stages, launch.shared_bytes});
    parts.emplace_back(FragmentWaves{p.fragment, p.cols});
  }
  void operator()(const device::TilePlan& p) {
    device::TilePlan tile = p;
    tile.kinds = 0;
    tile.offsets = -1;
    tile.arithmetic = Arithmetic::chain;  // says nothing about places
    for (int& access : tile.access) access = 0;
    parts.emplace_back(TileOutputs{tile, launch.shared_bytes});
    const int out_vector = p.access[2] / bytes_of(device::kind_at(p.kinds, 2)) >= 4 ? 4 : 1;
    const auto grouped = p.offsets < 0               ? device::Grouped::no
                         : call.operand(2).rank == 3 ? device::Grouped::sums
                                                     : device::Grouped::rows;
    parts.emplace_back(TileGrid{p.rows, p.cols, out_vector, grouped});
    parts.emplace_back(TileChain{p.inner, p.arithmetic == Arithmetic::block15 ? block15::kBlock : 0});
    for (int i = 0; i < 2; ++i) {
      TileFactor factor{tile, shape_of(i).along, shape_of(i).is_b};
      if (p.rows == p.cols) factor.is_b = false;
      factor.plan.access[0] = p.access[i];
      const device::Kind storage = bytes_of(device::kind_at(p.kinds, i)) == 2 ? device::Kind::f16 : device::Kind::f32;
      factor.plan.kinds = static_cast<std::uint64_t>(storage);
      parts.emplace_back(factor);
    }
  }
};

}  // namespace

std::vector<Part> parts_of(const Call& call, const device::Launch& launch) {
  Cutter cutter{call, launch};
  std::visit(cutter, launch.constants);
  return std::move(cutter.parts);
}

}  // namespace tokitai::proofs

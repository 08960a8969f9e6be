#include "proofs/subject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machines/device/product_shape.h"
#include "machines/device/row_shape.h"
#include "machines/device/tile_shape.h"

namespace tokitai::proofs {
namespace {

template <class... F> struct Choices : F... {
  using F::operator()...;
};
template <class... F> Choices(F...) -> Choices<F...>;

std::string words(const EachElements& part) {
  const device::EachPlan& p = part.plan;
  std::string text = fmt::format("{} threads, {} x {} elements", p.threads, p.turns, p.wide);
  if (p.lanes != 0) text += fmt::format(", {} threads a row", p.lanes);
  if (p.period != 0) text += fmt::format(", periods of {} pairs", p.period);
  return text;
}
std::string words(const ListSums& p) {
  return fmt::format("blocks by 32 threads with {} elements each, {} threads a chain, {} bytes shared", p.wide,
                     p.threads, p.shared_bytes);
}
std::string words(const RowColumns& part) {
  const device::RowPlan& p = part.plan;
  constexpr const char* kGuards[] = {"no guard", "guarded vectors", "guarded elements"};
  return fmt::format("{} threads, cluster of {}, {} x {} elements, {}{}{}", p.threads, p.cluster, p.chunks, p.wide,
                     kGuards[static_cast<int>(p.guard)], p.on_chip ? "" : ", not on chip", p.blind ? ", blind" : "");
}
std::vector<int> element_bytes(const device::RowPlan& p) {
  std::vector<int> bytes;
  for (int i = 0; p.staged >> i != 0; ++i)
    if ((p.staged >> i) & 1u) bytes.push_back(bytes_of(device::kind_at(p.kinds, i)));
  return bytes;
}
std::string words(const RowMemory& part) {
  const device::RowPlan& p = part.plan;
  return fmt::format("{} threads, {} teams, cluster of {}, {} x {} elements, {}, {} bytes shared", p.threads, p.teams,
                     p.cluster, p.chunks, p.wide,
                     p.on_chip
                         ? fmt::format("{} stages of operands of {} bytes", p.stages, fmt::join(element_bytes(p), ", "))
                         : fmt::format("not on chip, {} rows made", device::count_set(p.made)),
                     part.shared_bytes);
}
std::string words(const SegmentRows& p) {
  const std::string vectors =
      fmt::format("{} threads, {} elements of a {} row", p.threads, p.wide, p.whole ? "whole" : "guarded");
  if (p.gathers) return "copies by " + vectors;
  return fmt::format("sums by {}, {} bytes, {} on their way behind digits of {} bits, {} bytes shared", vectors,
                     p.row_bytes, p.ahead, p.digit_bits, p.shared_bytes);
}
std::string words(const TileOutputs& part) {
  const device::TilePlan& p = part.plan;
  return fmt::format("tiles of {} x {}, {} inner, {} x {} per thread, {} bytes shared", p.rows, p.cols, p.inner,
                     p.thread_rows, p.thread_cols, part.shared_bytes);
}
std::string words(const TileFactor& part) {
  const device::TilePlan& p = part.plan;
  return fmt::format("{} of a tile of {} x {} by {} threads, {} inner, elements of {} bytes, {} bytes along the {}",
                     part.is_b ? "columns" : "rows", p.rows, p.cols, device::tile_shape(p).threads, p.inner,
                     bytes_of(device::kind_at(p.kinds, 0)), p.access[0], part.along_outer ? "output" : "inner index");
}
constexpr const char* kAlong[] = {"inner index", "lines"};
constexpr const char* kGroups[] = {"no groups", "groups of rows", "sums over groups"};
std::string words(const ProductRing& part) {
  const device::ProductPlan& p = part.plan;
  return fmt::format(
      "{} slots of {} x {}{}, {}, clusters of {} x {}, {} boxes of outputs, memory along the {} and the {}, {} bytes "
      "shared",
      p.slots, device::kTileRows, p.cols, device::clears(p) ? ", cleared behind groups" : "",
      p.arithmetic == Arithmetic::block15 ? "integers" : "halves", p.cluster_rows, p.cluster_cols, p.boxes,
      kAlong[part.along[0]], kAlong[part.along[1]], part.shared_bytes);
}
std::string words(const ProductOutputs& p) {
  return fmt::format("outputs of {} x {}, {} bytes each, {} boxes", device::kTileRows, p.cols, p.result, p.boxes);
}
std::string words(const ProductGroups& part) {
  const device::ProductPlan& p = part.plan;
  return fmt::format("{} of {} in clusters of {} x {}, {} slots of {} x {}", kGroups[static_cast<int>(p.grouped)],
                     p.arithmetic == Arithmetic::block15 ? "integers" : "halves", p.cluster_rows, p.cluster_cols,
                     p.slots, device::kTileRows, p.cols);
}
std::string words(const PackedSpace& part) {
  const device::PackPlan& p = part.plan;
  if (p.arithmetic == Arithmetic::block15)
    return fmt::format("factors packed as integers, {}, slots of {}", kGroups[static_cast<int>(p.grouped)],
                       p.slot_rows);
  return fmt::format("factors packed in rows: {}{}, memory along the {} and the {}, {}, slots of {}",
                     p.packed[0] ? "the left one" : "", p.packed[1] ? "the right one" : "", kAlong[part.along[0]],
                     kAlong[part.along[1]], kGroups[static_cast<int>(p.grouped)], p.slot_rows);
}
std::string words(const PackedFactor& p) {
  if (!p.integers) return "a factor's rows packed";
  return fmt::format("elements of {} bytes packed as integers, memory along the {}, {} bytes shared", p.element_bytes,
                     p.along ? "lines" : "inner index", p.shared_bytes);
}

}  // namespace

std::string pattern_of(const Part& part) {
  return std::visit(Choices{[](const EachElements&) { return "each"; }, [](const ListSums&) { return "list_sum"; },
                            [](const RowColumns&) { return "row"; }, [](const RowMemory&) { return "row"; },
                            [](const RowTeams&) { return "row"; }, [](const RowSums&) { return "row"; },
                            [](const SegmentSort&) { return "segment"; }, [](const SegmentRows&) { return "segment"; },
                            [](const SegmentSums&) { return "segment"; }, [](const auto&) { return "tile"; }},
                    part);
}

std::string words_of(const Part& part) {
  return std::visit(Choices{[](const RowTeams& p) { return fmt::format("{} teams", p.teams); },
                            [](const RowSums& p) { return fmt::format("{} sums over rows", p.sums); },
                            [](const SegmentSort& p) {
                              return fmt::format("a sort by blocks of {} threads, {} bits at a time", p.threads,
                                                 p.digit_bits);
                            },
                            [](const SegmentSums&) { return std::string("sums of rows that share an index"); },
                            [](const TileGrid& p) {
                              return fmt::format("tiles of {} x {}, outputs by {}, {}", p.rows, p.cols, p.out_vector,
                                                 kGroups[static_cast<int>(p.grouped)]);
                            },
                            [](const TileChain& p) {
                              return fmt::format("{} inner at a time{}", p.inner,
                                                 p.block > 0 ? fmt::format(", {} of them twice", p.block) : "");
                            },
                            [](const ProductWalk& p) { return fmt::format("tiles in bands of {}", p.band); },
                            [](const SlotTable& p) { return fmt::format("groups in slots of {} rows", p.slot_rows); },
                            [](const PackedGroups& p) {
                              return fmt::format("groups packed in slots of {} rows{}", p.slot_rows,
                                                 p.sums ? ", which are summed over" : "");
                            },
                            [](const ProductBox& p) { return fmt::format("a box of outputs of {} bytes", p.result); },
                            [](const ProductScales& p) { return fmt::format("scales of {} columns", p.cols); },
                            [](const FragmentStages& p) {
                              return fmt::format("{} stages of {} + {} lines, {} bytes shared", p.stages,
                                                 device::kTileRows, p.cols, p.shared_bytes);
                            },
                            [](const FragmentWaves& p) {
                              return fmt::format("waves that multiply bytes by instruction {}, {} columns",
                                                 static_cast<int>(p.fragment), p.cols);
                            },
                            [](const ProductTiles& p) {
                              return fmt::format("tiles of {} x {} in clusters of {} x {}", device::kTileRows, p.cols,
                                                 p.cluster_rows, p.cluster_cols);
                            },
                            [](const auto& p) { return words(p); }},
                    part);
}

}  // namespace tokitai::proofs

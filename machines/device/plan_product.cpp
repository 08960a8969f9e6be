// Plans of products on Hopper's tensor cores: which tiles and clusters leave the fewest blocks idle; and what has to be
// packed before, there and where waves multiply bytes by themselves.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "machines/device/plan_parts.h"
#include "machines/device/product_shape.h"

namespace tokitai::device {
namespace {

using i64 = std::int64_t;

constexpr i64 kMostTiles = (i64{1} << 31) - (i64{1} << 20);  // an int numbers them, and a step behind the last
constexpr i64 kMostStride = (i64{1} << 40) - 16;

// Blocks of 128 of a short contracted index are mostly padding: the workspace stays within so many times the factors,
// and what every device has.
constexpr i64 kMostGrowth = 4, kFreeBytes = i64{64} << 20;

i64 pieces(i64 count, i64 size) { return (count + size - 1) / size; }

// A factor as it lies in memory: `lines` along the output by the contracted index, perhaps several matrices of that.
struct FactorView {
  const View& view;
  int operand;
  i64 lines, inner;
  bool along_lines;  // memory runs along the lines
  i64 matrices = 1;

  i64 stored_rows() const { return along_lines ? inner : lines; }
  i64 stored_cols() const { return along_lines ? lines : inner; }
  i64 element() const { return static_cast<i64>(size_of(view.type)); }
  i64 row_bytes() const {
    return stored_rows() > 1 ? view.row_stride * element() : pieces(stored_cols() * element(), 16) * 16;
  }
  i64 bytes() const { return matrices * stored_rows() * stored_cols() * element(); }
  bool aligned() const { return alignment_of(view) == 16; }
};

// How long a shape of tiles takes: rounds of clusters over the device, times what a tile costs.
struct Choice {
  int cols, slots;
  int boxes;  // of outputs on their way at once: a tile has a multiple of them
  bool two_sums;
  double cost;  // of a tile, beside the others of its arithmetic
};
constexpr std::array kHopper{Choice{256, 4, 2, false, 1.0}, Choice{192, 4, 3, false, 0.78},
                             Choice{128, 6, 2, false, 0.56}};
constexpr std::array kBlock15{Choice{192, 5, 1, false, 1.39}, Choice{128, 6, 1, true, 1.0}};

// What is multiplied: so many rows of outputs, in so many groups of them or matrices.
struct Outputs {
  Grouped grouped;
  i64 rows, cols, groups;
  bool started;  // sums do not start with zero
};
// Lines of clusters' tiles, at the most.
i64 lines_of(const ProductPlan& p, const Outputs& o) {
  const int rows = kTileRows * p.cluster_rows;
  switch (o.grouped) {
    case Grouped::rows: return slots_of(o.rows, o.groups, rows);
    case Grouped::sums: return o.groups * pieces(o.rows, rows);
    default: return pieces(o.rows, rows);
  }
}
i64 tiles_of(const ProductPlan& p, const Outputs& o) {
  return lines_of(p, o) * pieces(o.cols, i64{p.cols} * p.cluster_cols);
}
double rounds(const ProductPlan& p, const Outputs& o, int multiprocessors) {
  const int cluster = p.cluster_rows * p.cluster_cols;
  return static_cast<double>(pieces(tiles_of(p, o), std::max(multiprocessors / cluster, 1)));
}

std::span<const Choice> choices_of(const ProductPlan& p, const Outputs& o) {
  if (p.arithmetic == Arithmetic::hopper) return kHopper;
  // The wider tile leaves no registers for what is asked about groups and for what sums start with.
  return o.grouped == Grouped::rows && o.started ? std::span(kBlock15).subspan(1) : std::span(kBlock15);
}

void take(ProductPlan& p, const Choice& choice) {
  p.cols = choice.cols, p.slots = choice.slots, p.two_sums = choice.two_sums;
  p.boxes = p.boxed ? choice.boxes : 1;
}

// Blocks that share a factor's tile bring whole boxes of it: 64 lines, where memory runs along them.
bool brings_boxes(const ProductPlan& p, bool right_along) { return !right_along || p.cols / p.cluster_rows % 64 == 0; }

void choose(ProductPlan& best, const Outputs& outputs, bool right_along, const Machinery& machinery) {
  double least = std::numeric_limits<double>::infinity();
  for (const Choice& choice : choices_of(best, outputs))
    for (const auto& [below, beside] : {std::pair{2, 1}, std::pair{1, 2}, std::pair{1, 1}}) {
      ProductPlan p = best;
      take(p, choice);
      p.cluster_rows = below, p.cluster_cols = beside;
      p.band = below > 1 ? 8 : 16;
      // A block alone fetches every factor by itself.
      const double cost =
          rounds(p, outputs, machinery.multiprocessors) * choice.cost * (below * beside == 1 ? 1.05 : 1.0);
      if (cost < least && brings_boxes(p, right_along)) least = cost, best = p;
    }
}

// Other plans, which must give the same bits.
void vary(ProductPlan& p, int variant, bool right_along, const Outputs& outputs) {
  if (variant == 1) {
    p.cluster_rows = p.cluster_cols = 1;
    p.slots = p.arithmetic == Arithmetic::hopper ? 2 : 4;
    p.boxes = 1;
    p.boxed = false;
    p.band = 1;
  } else if (variant == 2) {
    const auto choices = choices_of(p, outputs);
    take(p, choices[0].cols == p.cols ? choices[std::min<std::size_t>(1, choices.size() - 1)] : choices[0]);
    p.cluster_rows = 3 - p.cluster_rows, p.cluster_cols = 3 - p.cluster_rows;
    if (!brings_boxes(p, right_along)) std::swap(p.cluster_rows, p.cluster_cols);
    p.band = 3;
  }
}

MapPlan map_of(const FactorView& f, const ProductPlan& p, int own) {
  MapPlan map{.operand = f.operand, .kind = kind_of(f.view)};
  map.size[0] = f.stored_cols(), map.size[1] = f.stored_rows(), map.size[2] = f.matrices;
  map.stride[0] = f.row_bytes(), map.stride[1] = f.row_bytes() * f.stored_rows();
  map.box[0] = product_shape(p).deep, map.box[1] = f.along_lines ? product_shape(p).deep : own;
  map.swizzled = true;
  return map;
}
// The same of a factor that was repacked, of its integers, and of their scales, from some byte of the workspace on.
MapPlan repacked_map(const FactorView& f, const ProductPlan& p, int own, i64 at) {
  MapPlan map = map_of(f, p, own);
  map.operand = -1, map.offset = at;
  map.stride[0] = row_pieces(f.stored_cols()) * 16, map.stride[1] = map.stride[0] * f.stored_rows();
  return map;
}
MapPlan integers_map(const PackedFactor<i64>& f, int own) {
  const i64 padded = padded_inner(f.inner);
  return {.operand = -1,
          .offset = f.planes,
          .kind = Kind::absent,
          .size = {padded, f.lines, 2 * f.matrices},
          .stride = {padded, padded * f.lines},
          .box = {kWideBytes, own},
          .swizzled = true};
}
MapPlan scales_map(const PackedFactor<i64>& f, int lines) {
  const i64 padded = padded_lines(f.lines), blocks = packed_parts(f.inner, 128);
  return {.operand = -1,
          .offset = f.scales,
          .kind = Kind::bf16,
          .size = {padded, blocks, f.matrices},
          .stride = {padded * 2, padded * 2 * blocks},
          .box = {lines, 1},
          .swizzled = false};
}

std::string in_words(const ProductPlan& p) {
  return fmt::format(
      "tensor cores: tiles of {} x {}, {} slots of 128 bytes of the contracted index, clusters of {} x {}, bands of "
      "{}; "
      "{}; {}",
      kTileRows, p.cols, p.slots, p.cluster_rows, p.cluster_cols, p.band,
      p.boxed ? "outputs written in boxes" : "outputs written one by one",
      p.arithmetic == Arithmetic::hopper ? "sums of 16 products"
      : p.two_sums                       ? "integers, high and mixed parts apart"
                                         : "integers, high and mixed parts in one sum");
}

// Tasks of the pass over one matrix.
i64 tasks_of(const FactorView& f, const PackedFactor<i64>& packed, bool integers) {
  if (!integers) return f.along_lines ? repacks_of(packed.inner, packed.lines) : repacks_of(packed.lines, packed.inner);
  return f.along_lines ? passes_across(packed.lines, packed.inner)
                       : passes_along(packed.lines, packed.inner, f.element() == 4 ? 2 : 4);
}

}  // namespace

Launch plan_slots(const Call& call, const Machinery& machinery, const SlotPlan& plan) {
  Launch launch;
  launch.block = kSlotThreads;
  launch.kernel = kernel_name(*call.contract, "_slots");
  launch.integer_atomics = true;
  launch.shared_bytes = plan.slot_rows == 0 ? 0 : kSlotThreads * 4;
  launch.plan = plan.slot_rows == 0
                    ? "one block asks whether offsets are valid"
                    : fmt::format("one block asks whether offsets are valid, and numbers each {} rows of a group",
                                  plan.slot_rows);
  launch.source = source_of(call, machinery, "groups.h", text_of(plan), launch, "slots_kernel<Definition, plan>", 1);
  launch.work = 1;
  launch.constants = plan;
  return launch;
}

std::optional<Program> plan_product(const Call& call, const Record& record, const Machinery& machinery) {
  const bool grouped = record.offsets >= 0, integers = record.arithmetic == Arithmetic::block15;
  const bool waves = integers && !grouped && machinery.target.fragment != Fragment::none &&
                     (!machinery.target.warpgroups || machinery.variant == kWaves);
  if (record.arithmetic == Arithmetic::chain || machinery.variant == kOrdinary ||
      (!waves && !machinery.target.warpgroups))
    return std::nullopt;
  const View& out = call.operand(record.out);
  const View &a = call.operand(record.a), &b = call.operand(record.b);
  const i64 inner = record.a_transposed ? a.rows() : a.cols();
  const i64 groups = grouped ? call.operand(record.offsets).rows() - 1 : 0;
  const bool matrices = out.rank == 3;  // a product per group
  const Outputs outputs{!grouped   ? Grouped::no
                        : matrices ? Grouped::sums
                                   : Grouped::rows,
                        matrices ? out.shape[1] : out.rows(), out.cols(), groups,
                        record.start >= 0 && call.operand(record.start).present()};
  const bool by_rows = outputs.grouped == Grouped::rows;
  const std::array factors{FactorView{a, record.a, outputs.rows, inner, record.a_transposed},
                           FactorView{b, record.b, outputs.cols, inner, !record.b_transposed, by_rows ? groups : 1}};
  for (const i64 extent : {outputs.rows, outputs.cols, inner, groups})
    if (extent > kMostExtent) return std::nullopt;
  for (const View* view : {&a, &b, &out})
    if (view->row_stride * static_cast<i64>(size_of(view->type)) > kMostStride) return std::nullopt;

  ProductPlan p{};
  p.kinds = kinds_of(call.operands);
  p.arithmetic = record.arithmetic;
  p.boxed = alignment_of(out) == 16;
  p.result = static_cast<int>(size_of(out.type));
  p.grouped = outputs.grouped;
  p.offsets = record.offsets;
  const bool right_along = !integers && factors[1].along_lines;
  choose(p, outputs, right_along, machinery);
  vary(p, machinery.variant, right_along, outputs);
  const int shares[] = {kTileRows / p.cluster_cols, p.cols / p.cluster_rows};
  if (static_cast<__int128>(lines_of(p, outputs)) * pieces(outputs.cols, waves ? 64 : p.cols) > kMostTiles)
    return std::nullopt;

  PackPlan pack{.kinds = p.kinds, .arithmetic = p.arithmetic, .packed = {}, .aligned = {}, .grouped = p.grouped};
  for (int i = 0; i < 2; ++i) {
    pack.aligned[i] = factors[static_cast<std::size_t>(i)].aligned();
    pack.packed[i] = integers || !pack.aligned[i];
  }
  if (by_rows) pack.slot_rows = kTileRows * p.cluster_rows;
  if (outputs.grouped == Grouped::sums && integers) pack.slot_rows = kWideBytes;
  const Packing<i64> packing =
      packing_of(pack, factors[0].along_lines, factors[1].along_lines, outputs.rows, outputs.cols, inner, groups);
  const std::array packed{packing.left, packing.right};
  if (packing.bytes > kMostGrowth * (factors[0].bytes() + factors[1].bytes()) + kFreeBytes) return std::nullopt;
  for (const PackedFactor<i64>& f : packed)
    for (const i64 extent : {f.lines, f.inner})
      if (extent > kMostExtent) return std::nullopt;

  Program program;
  program.pattern = Pattern::tile;
  program.arguments = arguments_of(call);
  program.arguments.extent[0] = outputs.rows;
  program.arguments.extent[1] = outputs.cols;
  program.arguments.extent[2] = inner;
  program.arguments.extent[3] = groups;
  program.checked = grouped;
  program.workspace_bytes = packing.bytes;
  if (grouped) program.launches.push_back(plan_slots(call, machinery, {p.kinds, p.offsets, pack.slot_rows}));

  Launch product;
  product.maps.resize(kMaps);
  i64 tasks = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const FactorView& f = factors[i];
    if (integers) {
      product.maps[kLeftMap + i] = integers_map(packed[i], shares[i]);
      product.maps[kLeftScalesMap + i] = scales_map(packed[i], i == 0 ? kTileRows : p.cols);
    } else {
      product.maps[kLeftMap + i] =
          pack.packed[i] ? repacked_map(f, p, shares[i], packed[i].planes) : map_of(f, p, shares[i]);
    }
    if (pack.packed[i]) tasks += packed[i].matrices * tasks_of(f, packed[i], integers);
  }
  if (p.boxed) {
    const i64 element = p.result;
    const i64 row = out.rows() > 1 ? out.row_stride * element : pieces(out.cols() * element, 16) * 16;
    product.maps[kOutMap] = {.operand = record.out,
                             .offset = 0,
                             .kind = kind_of(out),
                             .size = {out.cols(), outputs.rows, matrices ? groups : 1},
                             .stride = {row, row * outputs.rows},
                             .box = {kWideBytes / p.result, 16},
                             .swizzled = true};
  }
  if (tasks > std::numeric_limits<int>::max()) return std::nullopt;

  if (tasks > 0) {
    Launch launch;
    launch.block = kPackThreads;
    launch.kernel = kernel_name(*call.contract, "_pack");
    launch.shared_bytes = integers ? kPackShared : 0;
    launch.work = tasks;
    // Elements that may begin anywhere take registers.
    const bool aligned = pack.aligned[0] && pack.aligned[1];
    const int resident = !integers                               ? 1
                         : !machinery.target.warpgroups          ? 2  // measured nowhere
                         : factors[0].element() == 4 || !aligned ? 3
                                                                 : 5;
    launch.source =
        source_of(call, machinery, "product_pack.h", text_of(pack), launch, "pack_kernel<Definition, plan>", resident);
    launch.plan = integers ? "factors as integers of blocks of 128, high and low parts, with their scales"
                           : "factors in rows that begin at multiples of 16 bytes";
    launch.constants = pack;
    program.launches.push_back(std::move(launch));
  }
  if (waves) {
    program.launches.push_back(fragment_launch(call, record, machinery));
    return program;
  }
  product.block = kProductThreads;
  product.kernel = kernel_name(*call.contract, "");
  product.shared_bytes = product_shape(p).bytes;
  product.cluster = p.cluster_rows * p.cluster_cols;
  product.persistent = true;
  product.hopper_sums = !integers;
  product.work = tiles_of(p, outputs) * product.cluster;
  product.source = source_of(call, machinery, "product.h", text_of(p), product, "product_kernel<Definition, plan>", 1);
  product.plan = in_words(p);
  product.constants = p;
  program.launches.push_back(std::move(product));
  return program;
}

}  // namespace tokitai::device

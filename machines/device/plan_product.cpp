// Plans of products on Hopper's tensor cores: which tiles and clusters leave the fewest blocks idle, and what has to be
// packed before.
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

constexpr i64 kMostExtent = (i64{1} << 31) - 65536;          // places in a matrix are 32-bit numbers to the copy engine
constexpr i64 kMostTiles = (i64{1} << 31) - (i64{1} << 20);  // an int numbers them, and a step behind the last
constexpr i64 kMostStride = (i64{1} << 40) - 16;

i64 pieces(i64 count, i64 size) { return (count + size - 1) / size; }

// A factor as it lies in memory: `lines` along the output by the contracted index.
struct FactorView {
  const View& view;
  int operand;
  i64 lines, inner;
  bool along_lines;  // memory runs along the lines

  i64 stored_rows() const { return along_lines ? inner : lines; }
  i64 stored_cols() const { return along_lines ? lines : inner; }
  i64 element() const { return static_cast<i64>(size_of(view.type)); }
  i64 row_bytes() const {
    return stored_rows() > 1 ? view.row_stride * element() : pieces(stored_cols() * element(), 16) * 16;
  }
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

double rounds(const ProductPlan& p, i64 rows, i64 cols, int multiprocessors) {
  const int cluster = p.cluster_rows * p.cluster_cols;
  const i64 tiles = pieces(rows, kTileRows * p.cluster_rows) * pieces(cols, i64{p.cols} * p.cluster_cols);
  return static_cast<double>(pieces(tiles, std::max(multiprocessors / cluster, 1)));
}

std::span<const Choice> choices_of(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::hopper) return kHopper;
  return kBlock15;
}

void take(ProductPlan& p, const Choice& choice) {
  p.cols = choice.cols, p.slots = choice.slots, p.two_sums = choice.two_sums;
  p.boxes = p.boxed ? choice.boxes : 1;
}

// Blocks that share a factor's tile bring whole boxes of it: 64 lines, where memory runs along them.
bool brings_boxes(const ProductPlan& p, bool right_along) { return !right_along || p.cols / p.cluster_rows % 64 == 0; }

void choose(ProductPlan& best, i64 rows, i64 cols, bool right_along, const Machinery& machinery) {
  double least = std::numeric_limits<double>::infinity();
  for (const Choice& choice : choices_of(best.arithmetic))
    for (const auto& [below, beside] : {std::pair{2, 1}, std::pair{1, 2}, std::pair{1, 1}}) {
      ProductPlan p = best;
      take(p, choice);
      p.cluster_rows = below, p.cluster_cols = beside;
      p.band = below > 1 ? 8 : 16;
      // A block alone fetches every factor by itself.
      const double cost =
          rounds(p, rows, cols, machinery.multiprocessors) * choice.cost * (below * beside == 1 ? 1.05 : 1.0);
      if (cost < least && brings_boxes(p, right_along)) least = cost, best = p;
    }
}

// Other plans, which must give the same bits.
void vary(ProductPlan& p, int variant, bool right_along) {
  if (variant == 1) {
    p.cluster_rows = p.cluster_cols = 1;
    p.slots = p.arithmetic == Arithmetic::hopper ? 2 : 4;
    p.boxes = 1;
    p.boxed = false;
    p.band = 1;
  } else if (variant == 2) {
    const auto choices = choices_of(p.arithmetic);
    take(p, choices[0].cols == p.cols ? choices[1] : choices[0]);
    p.cluster_rows = 3 - p.cluster_rows, p.cluster_cols = 3 - p.cluster_rows;
    if (!brings_boxes(p, right_along)) std::swap(p.cluster_rows, p.cluster_cols);
    p.band = 3;
  }
}

MapPlan map_of(const FactorView& f, const ProductPlan& p, int own) {
  MapPlan map{.operand = f.operand, .kind = kind_of(f.view)};
  map.size[0] = f.stored_cols(), map.size[1] = f.stored_rows(), map.size[2] = 1;
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
MapPlan integers_map(const FactorView& f, int own, i64 at) {
  const i64 padded = padded_inner(f.inner);
  return {.operand = -1,
          .offset = at,
          .kind = Kind::absent,
          .size = {padded, f.lines, 2},
          .stride = {padded, padded * f.lines},
          .box = {kWideBytes, own},
          .swizzled = true};
}
MapPlan scales_map(const FactorView& f, int lines, i64 at) {
  const i64 padded = padded_lines(f.lines), blocks = packed_parts(f.inner, 128);
  return {.operand = -1,
          .offset = at,
          .kind = Kind::bf16,
          .size = {padded, blocks, 1},
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

}  // namespace

std::optional<Program> plan_product(const Call& call, const Record& record, const Machinery& machinery) {
  constexpr int kOrdinary = 3;  // the variant that leaves tensor cores alone
  if (!machinery.target.warpgroups || record.arithmetic == Arithmetic::chain || machinery.variant == kOrdinary)
    return std::nullopt;
  const View& out = call.operand(record.out);
  const View &a = call.operand(record.a), &b = call.operand(record.b);
  const i64 inner = record.a_transposed ? a.rows() : a.cols();
  const std::array factors{FactorView{a, record.a, out.rows(), inner, record.a_transposed},
                           FactorView{b, record.b, out.cols(), inner, !record.b_transposed}};
  const bool integers = record.arithmetic == Arithmetic::block15;
  for (const i64 extent : {out.rows(), out.cols(), inner})
    if (extent > kMostExtent) return std::nullopt;
  if (pieces(out.rows(), kTileRows) * pieces(out.cols(), 128) > kMostTiles) return std::nullopt;
  for (const View* view : {&a, &b, &out})
    if (view->row_stride * static_cast<i64>(size_of(view->type)) > kMostStride) return std::nullopt;

  ProductPlan p{};
  p.kinds = kinds_of(call.operands);
  p.arithmetic = record.arithmetic;
  p.boxed = alignment_of(out) == 16;
  p.result = static_cast<int>(size_of(out.type));
  const bool right_along = !integers && factors[1].along_lines;
  choose(p, out.rows(), out.cols(), right_along, machinery);
  vary(p, machinery.variant, right_along);
  const int shares[] = {kTileRows / p.cluster_cols, p.cols / p.cluster_rows};

  PackPlan pack{.kinds = p.kinds, .arithmetic = p.arithmetic, .packed = {}, .aligned = {}};
  for (int i = 0; i < 2; ++i) {
    pack.aligned[i] = factors[static_cast<std::size_t>(i)].aligned();
    pack.packed[i] = integers || !pack.aligned[i];
  }

  Program program;
  program.pattern = Pattern::tile;
  program.arguments = arguments_of(call);
  program.arguments.extent[0] = out.rows();
  program.arguments.extent[1] = out.cols();
  program.arguments.extent[2] = inner;

  Launch product;
  product.maps.resize(kMaps);
  i64 bytes = 0, tasks = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const FactorView& f = factors[i];
    if (integers) {
      product.maps[kLeftMap + i] = integers_map(f, shares[i], bytes);
      bytes += planes_bytes(f.lines, f.inner);
      tasks +=
          f.along_lines ? passes_across(f.lines, f.inner) : passes_along(f.lines, f.inner, f.element() == 4 ? 2 : 4);
    } else if (pack.packed[i]) {
      product.maps[kLeftMap + i] = repacked_map(f, p, shares[i], bytes);
      bytes += repacked_bytes(f.stored_rows(), f.stored_cols());
      tasks += repacks_of(f.stored_rows(), f.stored_cols());
    } else {
      product.maps[kLeftMap + i] = map_of(f, p, shares[i]);
    }
  }
  for (std::size_t i = 0; i < 2 && integers; ++i) {
    product.maps[kLeftScalesMap + i] = scales_map(factors[i], i == 0 ? kTileRows : p.cols, bytes);
    bytes += scales_bytes(factors[i].lines, factors[i].inner);
  }
  if (p.boxed) {
    const i64 element = p.result;
    const i64 row = out.rows() > 1 ? out.row_stride * element : pieces(out.cols() * element, 16) * 16;
    product.maps[kOutMap] = {.operand = record.out,
                             .offset = 0,
                             .kind = kind_of(out),
                             .size = {out.cols(), out.rows(), 1},
                             .stride = {row, row * out.rows()},
                             .box = {kWideBytes / p.result, 16},
                             .swizzled = true};
  }
  program.workspace_bytes = bytes;
  if (tasks > std::numeric_limits<int>::max()) return std::nullopt;

  if (tasks > 0) {
    Launch launch;
    launch.block = kPackThreads;
    launch.kernel = kernel_name(*call.contract, "_pack");
    launch.shared_bytes = integers ? kPackShared : 0;
    launch.work = tasks;
    // Elements that may begin anywhere take registers.
    const bool aligned = pack.aligned[0] && pack.aligned[1];
    const int resident = !integers ? 1 : factors[0].element() == 4 ? 3 : aligned ? 5 : 3;
    launch.source =
        source_of(call, machinery, "product_pack.h", text_of(pack), launch, "pack_kernel<Definition, plan>", resident);
    launch.plan = integers ? "factors as integers of blocks of 128, high and low parts, with their scales"
                           : "factors in rows that begin at multiples of 16 bytes";
    launch.constants = pack;
    program.launches.push_back(std::move(launch));
  }
  product.block = kProductThreads;
  product.kernel = kernel_name(*call.contract, "");
  product.shared_bytes = product_shape(p).bytes;
  product.cluster = p.cluster_rows * p.cluster_cols;
  product.persistent = true;
  product.hopper_sums = !integers;
  product.work = pieces(out.rows(), kTileRows * p.cluster_rows) * pieces(out.cols(), i64{p.cols} * p.cluster_cols) *
                 product.cluster;
  product.source = source_of(call, machinery, "product.h", text_of(p), product, "product_kernel<Definition, plan>", 1);
  product.plan = in_words(p);
  product.constants = p;
  program.launches.push_back(std::move(product));
  return program;
}

}  // namespace tokitai::device

// Plans of the tile pattern: large tiles, or small ones where large ones would leave the device idle.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "machines/device/plan_parts.h"
#include "machines/device/product_shape.h"
#include "machines/device/tile_shape.h"

namespace tokitai::device {
namespace {

// Bytes of an access along a stored row that never leaves it.
int row_access(const View& view) {
  const int align = alignment_of(view);
  const std::int64_t bytes = view.cols() * static_cast<std::int64_t>(size_of(view.type));
  return static_cast<int>(std::min<std::int64_t>(align, bytes & -bytes));
}

}  // namespace

Result<Program> plan_tile(const Call& call, const Record& record, const Machinery& machinery) {
  const bool grouped = record.offsets >= 0;
  if (auto product = plan_product(call, record, machinery)) return *std::move(product);
  const View &a = call.operand(record.a), &out = call.operand(record.out);
  const std::int64_t inner = record.a_transposed ? a.rows() : a.cols();
  const std::int64_t groups = grouped ? call.operand(record.offsets).rows() - 1 : 0;
  const bool matrices = out.rank == 3;  // a product per group
  const std::int64_t rows = matrices ? out.shape[1] : out.rows();

  TilePlan p{};
  p.kinds = kinds_of(call.operands);
  for (const int i : {record.a, record.b, record.out}) p.access[i] = row_access(call.operand(i));
  p.inner = 16;
  p.arithmetic = record.arithmetic;
  p.offsets = record.offsets;
  // Large tiles do more arithmetic per byte of shared memory; small ones keep a device busy with a small output.
  const auto tile = [&](int rows, int cols, int thread_rows, int thread_cols) {
    p.rows = rows, p.cols = cols, p.thread_rows = thread_rows, p.thread_cols = thread_cols;
  };
  // Of groups of rows as many as they may need at the most (groups.h).
  const auto tiles = [&] {
    const std::int64_t down = (rows + p.rows - 1) / p.rows;
    return (matrices  ? groups * down
            : grouped ? slots_of(rows, groups, p.rows)
                      : down) *
           ((out.cols() + p.cols - 1) / p.cols);
  };
  // Single elements along the inner index leave no registers for large tiles.
  const bool along_inner = !record.a_transposed || record.b_transposed;
  const bool single = std::min(p.access[record.a], p.access[record.b]) < 4 && along_inner;
  tile(256, 128, 16, 8);
  if (machinery.variant == 2 || single || machinery.target.vendor == compiler::Vendor::amd ||
      tiles() < 2 * machinery.multiprocessors)
    tile(128, 128, 8, 8);
  if ((machinery.variant != 2 && tiles() < machinery.multiprocessors) != (machinery.variant == 1) ||
      p.arithmetic != Arithmetic::chain)  // what the others keep of an output fills a thread's registers
    tile(64, 64, 4, 4);
  if (tiles() > std::numeric_limits<int>::max())
    return Status::invalid(fmt::format("{}: the output of {} x {} has too many tiles for one launch",
                                       call.contract->name, out.rows(), out.cols()));

  if (grouped && !matrices && rows > kMostExtent)
    return Status::invalid(fmt::format("{}: the groups of {} have {} rows; a GPU takes at most {}", call.contract->name,
                                       call.contract->operands[static_cast<std::size_t>(record.out)].name, rows,
                                       kMostExtent));

  Program program;
  program.pattern = Pattern::tile;
  program.arguments = arguments_of(call);
  program.arguments.extent[0] = rows;
  program.arguments.extent[1] = out.cols();
  program.arguments.extent[2] = inner;
  program.arguments.extent[3] = groups;
  program.checked = grouped;
  if (grouped) {
    const int slot_rows = matrices ? 0 : p.rows;
    program.launches.push_back(plan_slots(call, machinery, {p.kinds, p.offsets, slot_rows}));
    if (!matrices) program.workspace_bytes = slot_table_bytes(slots_of(rows, groups, slot_rows), groups);
  }
  Launch launch;
  launch.block = p.rows / p.thread_rows * (p.cols / p.thread_cols);
  launch.kernel = kernel_name(*call.contract, "");
  const bool two = p.rows < 256 && std::min(p.access[record.a], p.access[record.b]) >= 8 && size_of(a.type) == 2;
  launch.source =
      source_of(call, machinery, grouped ? "tile_groups.h" : "tile.h", text_of(p), launch,
                grouped ? "grouped_tile_kernel<Definition, plan>" : "tile_kernel<Definition, plan>", two ? 2 : 1);
  launch.plan = fmt::format(
      "tiles of {} x {} with {} inner at a time, {} x {} outputs per thread; accesses of {}, {} and "
      "{} bytes; {} per output",
      p.rows, p.cols, p.inner, p.thread_rows, p.thread_cols, p.access[0], p.access[1], p.access[2],
      p.arithmetic == Arithmetic::chain     ? "one fma chain"
      : p.arithmetic == Arithmetic::block15 ? "exact sums of 128 integer products"
                                            : "Hopper's sums of 16 products, in integers,");
  launch.shared_bytes = 2 * (p.rows + 4 + p.cols + 4) * p.inner * 4;
  launch.work = tiles();
  launch.constants = p;
  program.launches.push_back(std::move(launch));
  return program;
}

}  // namespace tokitai::device

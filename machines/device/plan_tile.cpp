// Plans of the tile pattern: large tiles, or small ones where large ones would leave the device idle.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "machines/device/plan_parts.h"

namespace tokitai::device {
namespace {

// Bytes of an access along a stored row that never leaves it.
int row_access(const View& view) {
  const int align = alignment_of(view);
  const std::int64_t bytes = view.cols() * static_cast<std::int64_t>(size_of(view.type));
  return static_cast<int>(std::min<std::int64_t>(align, bytes & -bytes));
}

}  // namespace

Result<Program> plan_tile(const Call& call, const Machinery& machinery) {
  const View& out = call.operand(2);
  const auto& shape = call.contract->operands[2].shape;
  std::int64_t inner = 0;
  for (const Symbol& symbol : call.symbols)
    if (!symbol.name.empty() && symbol.name != shape[0] && symbol.name != shape[1]) inner = symbol.value;

  TilePlan p{};
  p.kinds = kinds_of(call.operands);
  for (std::size_t i = 0; i < 3; ++i) p.access[i] = row_access(call.operands[i]);
  p.inner = 16;
  // Large tiles do more arithmetic per byte of shared memory; small ones keep a device busy with a small output.
  const auto tile = [&](int rows, int cols, int thread_rows, int thread_cols) {
    p.rows = rows, p.cols = cols, p.thread_rows = thread_rows, p.thread_cols = thread_cols;
  };
  const auto tiles = [&] { return ((out.rows() + p.rows - 1) / p.rows) * ((out.cols() + p.cols - 1) / p.cols); };
  // Single elements along the inner index leave no registers for large tiles.
  const auto along_output = [&](std::size_t i) {
    const std::string_view last = call.contract->operands[i].shape[1];
    return last == shape[0] || last == shape[1];
  };
  const bool single = std::min(p.access[0], p.access[1]) < 4 && !(along_output(0) && along_output(1));
  tile(256, 128, 16, 8);
  if (machinery.variant == 2 || single || machinery.target.vendor == compiler::Vendor::amd ||
      tiles() < 2 * machinery.multiprocessors)
    tile(128, 128, 8, 8);
  if ((machinery.variant != 2 && tiles() < machinery.multiprocessors) != (machinery.variant == 1)) tile(64, 64, 4, 4);
  if (tiles() > std::numeric_limits<int>::max())
    return Status::invalid(fmt::format("{}: the output of {} x {} has too many tiles for one launch",
                                       call.contract->name, out.rows(), out.cols()));

  Program program;
  program.pattern = Pattern::tile;
  program.arguments = arguments_of(call);
  program.arguments.extent[0] = out.rows();
  program.arguments.extent[1] = out.cols();
  program.arguments.extent[2] = inner;
  Launch launch;
  launch.block = p.rows / p.thread_rows * (p.cols / p.thread_cols);
  launch.kernel = kernel_name(*call.contract, "");
  const bool two = p.rows < 256 && std::min(p.access[0], p.access[1]) >= 8 && size_of(call.operand(0).type) == 2;
  launch.source =
      source_of(call, machinery, "tile.h", text_of(p), launch, "tile_kernel<Definition, plan>", two ? 2 : 1);
  launch.plan = fmt::format(
      "tiles of {} x {} with {} inner at a time, {} x {} outputs per thread; accesses of {}, {} and "
      "{} bytes; one fma chain per output",
      p.rows, p.cols, p.inner, p.thread_rows, p.thread_cols, p.access[0], p.access[1], p.access[2]);
  launch.shared_bytes = 2 * (p.rows + 4 + p.cols + 4) * p.inner * 4;
  launch.work = tiles();
  launch.constants = p;
  program.launches.push_back(std::move(launch));
  return program;
}

}  // namespace tokitai::device

// Plans of the row pattern: how many threads share a row, whether it stays on chip, how wide accesses are.
#include <fmt/format.h>

#include <algorithm>

#include "machines/device/plan_parts.h"
#include "machines/device/row_shape.h"

namespace tokitai::device {
namespace {

constexpr int kColumns = 2048;     // a block of columns
constexpr int kMostThreads = 512;  // leaves each thread 128 registers
constexpr int kFewThreads = 256;   // where a thread needs more: sums of rows that are not whole blocks of f16
constexpr int kChainRows = 32;
constexpr int kLong = 4096;  // columns

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int shared_of(const RowPlan& p) {
  const int groups = p.threads / p.teams / 32 * p.cluster;
  return row_numbers(p).staged_bytes + (p.cluster > 1 ? 16 + 8 : 0) + std::max(p.on_chip ? 2 * 3 * groups * 4 : 0, 256);
}

struct Facts {
  const Call& call;
  std::int64_t rows, cols;
  const Record& record;
  int element_bytes = 0;  // the most of any element of a row, or of a parameter per column
};

RowPlan facts_of(Facts& f) {
  const Record& record = f.record;
  RowPlan p{};
  p.kinds = kinds_of(f.call.operands);
  p.zeros = zero_scalars(f.call);
  p.checked = record.checks;
  p.access = 16;
  p.staged = record.loaded | record.read;
  p.ahead = record.row_values & ~record.writes;
  p.sums = record.column_sums;
  p.made = record.made;
  p.finishes = record.once != 0;
  for (int i = 0; i < kMaxOperands; ++i)
    if (holds(p.staged | record.stored | record.columns, i)) {
      p.access = std::min(p.access, alignment_of(f.call.operand(i)));
      f.element_bytes = std::max(f.element_bytes, static_cast<int>(size_of(f.call.operand(i).type)));
    }
  return p;
}

// Threads, clusters and stages for a row that stays on chip; false where it does not fit.
bool fit(RowPlan& p, const Facts& f, const Machinery& machinery) {
  const int column_threads = 256 / p.wide;
  const std::int64_t blocks = ceil_div(f.cols, kColumns);
  const bool asks = f.cols % kColumns != 0 || f.element_bytes > 2;
  const std::int64_t most = (p.sums != 0 && asks ? kFewThreads : kMostThreads) / column_threads;
  p.cluster = 1;
  while (ceil_div(blocks, p.cluster) > most) p.cluster *= 2;
  if (p.cluster > (machinery.target.clusters ? 8 : 1)) return false;
  p.on_chip = true;
  const int team = static_cast<int>(ceil_div(blocks, p.cluster)) * column_threads;
  for (p.stages = machinery.variant == 1 ? 1 : 2; p.stages >= 1; --p.stages)
    for (p.teams = team == 32 ? 8 : 1; p.teams >= 1; p.teams /= 2) {
      p.threads = team * p.teams;
      if (shared_of(p) <= machinery.target.shared_bytes) return true;
    }
  return false;
}

RowPlan choose(Facts& f, const Machinery& machinery) {
  RowPlan p = facts_of(f);
  // Column sums keep a value each per element in registers, and column parameters come through the cache: both do
  // better with half as many elements per thread.
  const bool columns = f.record.columns != 0;
  p.wide = (p.sums != 0 || (columns && f.cols > kColumns)) != (machinery.variant == 2 && p.sums == 0) ? 4 : 8;
  // Known to the compiler where that is worth a kernel of its own.
  p.cols = (f.cols & (f.cols - 1)) == 0 || (f.cols > kLong && f.cols % p.wide == 0) ? static_cast<int>(f.cols) : 0;
  p.chunks = 8;
  while (p.chunks > 1 && f.cols <= p.chunks / 2 * 256) p.chunks /= 2;
  if (machinery.variant == 3 || !fit(p, f, machinery)) {
    p.on_chip = false;
    p.cluster = p.teams = p.stages = 1;
    p.chunks = 8;
    p.wide = 8;
    p.threads = static_cast<int>(std::min<std::int64_t>(ceil_div(f.cols, kColumns) * 32, kFewThreads));
  }
  p.held = machinery.variant == 1 && p.on_chip && p.sums == 0 && p.chunks * p.wide <= 32;
  p.access = std::min(p.access, p.wide * f.element_bytes);
  const std::int64_t held = std::int64_t{p.threads} / p.teams / (256 / p.wide) * p.cluster * p.chunks * 256;
  p.guard = f.cols % p.wide != 0 ? Guard::elements : p.on_chip && held == f.cols ? Guard::none : Guard::vectors;
  p.blind = p.on_chip && p.guard == Guard::vectors && !columns && p.sums == 0;
  return p;
}

std::string words_of(const RowPlan& p, const Facts& f) {
  const int team = p.threads / p.teams;
  const std::string place = !p.on_chip ? "a row does not stay on chip: it is read again for every pass"
                            : p.cluster > 1
                                ? fmt::format("a row is shared by a cluster of {} blocks and read once", p.cluster)
                                : "a row is read once";
  return fmt::format(
      "{} threads per row, {} row{} per block of {}, {} elements per thread and chunk, {} chunk{}, "
      "accesses of {} bytes, {} row{} on their way; {}; cols = {}",
      team * p.cluster, p.teams, p.teams == 1 ? "" : "s", p.threads, p.wide, p.chunks, p.chunks == 1 ? "" : "s",
      p.guard == Guard::elements ? f.element_bytes : p.access, p.stages, p.stages == 1 ? "" : "s", place, f.cols);
}

}  // namespace

Result<Program> plan_row(const Call& call, const Record& record, const Machinery& machinery) {
  Facts f{call, call.operand(0).rows(), call.operand(0).cols(), record};
  const RowPlan p = choose(f, machinery);
  if (const ColumnRange right = columns_for(p, static_cast<int>(f.cols));
      f.cols < right.least || f.cols > right.most || f.cols % right.multiple != 0)
    return Status(Code::internal, fmt::format("{}: a plan for {} to {} columns, multiples of {}, where there are {}",
                                              call.contract->name, right.least, right.most, right.multiple, f.cols));
  Program program;
  program.pattern = Pattern::row;
  program.arguments = arguments_of(call);
  program.arguments.extent[0] = f.rows;
  program.arguments.extent[1] = f.cols;
  program.checked = p.checked;
  program.counts = p.finishes;
  const Contract& contract = *call.contract;

  if (p.checked) {
    RowPlan check = p;
    check.threads = 256;
    check.teams = 8;
    Launch launch;
    launch.kernel = kernel_name(contract, "_check");
    // Rows are counted where something depends on all of them: an output of the whole call, or the rows' own.
    const bool counting = record.counted;
    launch.plan = fmt::format("one thread per row asks whether it is valid{}", counting ? ", and counts" : "");
    launch.block = check.threads;
    launch.integer_atomics = true;
    launch.source = source_of(call, machinery, "row_kernels.h", text_of(check), launch,
                              fmt::format("row_check_kernel<Definition, plan, {}>", counting), 1);
    launch.work = std::min<std::int64_t>(ceil_div(f.rows, check.threads), 4 * machinery.multiprocessors);
    program.launches.push_back(std::move(launch));
  }

  Launch launch;
  launch.kernel = kernel_name(contract, "");
  launch.plan = words_of(p, f);
  launch.block = p.threads;
  launch.shared_bytes = shared_of(p);
  launch.cluster = p.cluster;
  launch.constants = p;
  launch.integer_atomics = p.finishes;
  // Single elements of column parameters may stay in registers from row to row, which then has to have them.
  const bool single = p.guard == Guard::elements && record.columns != 0;
  const int resident = p.on_chip && p.threads <= 256 && p.sums == 0 && !single ? 2 : 1;
  launch.source =
      source_of(call, machinery, "row_kernels.h", text_of(p), launch, "row_kernel<Definition, plan>", resident);
  const std::int64_t chains = ceil_div(f.rows, kChainRows);
  const std::int64_t items = p.sums != 0 ? chains : ceil_div(f.rows, p.teams);
  std::int64_t floats = 0;
  if (p.on_chip) {
    launch.work = items * p.cluster;
    launch.persistent = true;
  } else {
    launch.work = std::min<std::int64_t>(items, 2 * machinery.multiprocessors);
    floats = launch.work * (count_set(p.made) * f.cols + 3 * ceil_div(f.cols, kColumns) * (256 / p.wide / 32));
  }
  program.launches.push_back(std::move(launch));
  program.arguments.extent[2] = floats;

  if (p.sums != 0) {
    const int sums = count_set(p.sums);
    floats += sums * (chains + ceil_div(chains, kChainRows)) * f.cols;
    RowPlan columns = p;
    columns.threads = static_cast<int>(32 * std::clamp<std::int64_t>(ceil_div(chains, kChainRows), 1, 16));
    Launch finish;
    finish.kernel = kernel_name(contract, "_columns");
    finish.plan = fmt::format("32 columns per block, {} chains of partial rows at once", columns.threads / 32);
    finish.block = columns.threads;
    finish.source = source_of(call, machinery, "row_kernels.h", text_of(columns), finish, "column_kernel<plan>", 1);
    finish.work = sums * ceil_div(f.cols, 32);
    program.launches.push_back(std::move(finish));
  }
  if (p.finishes) floats += 2 * chains + 64;
  program.workspace_bytes = 4 * floats;
  return program;
}

}  // namespace tokitai::device

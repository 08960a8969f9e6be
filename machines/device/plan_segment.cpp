// Plans of the segment pattern: a check and a gather, or one cooperative launch that sorts and sums.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "machines/device/plan_parts.h"
#include "machines/device/segment_shape.h"

namespace tokitai::device {
namespace {

constexpr int kRowBytes = 16;  // of a row's piece that a thread works on
constexpr std::int64_t kMostQueries = std::int64_t{1} << 31;
constexpr int kFewDigitBits = 5, kMostDigitBits = 9;

}  // namespace

Result<Program> plan_segment(const Call& call, const Record& record, const Machinery& machinery) {
  const Contract& contract = *call.contract;
  const View &table = call.operand(record.table), &rows = call.operand(record.queries);
  const std::int64_t queries = rows.rows(), dim = rows.cols(), vocab = table.rows();
  const bool sums = record.sums;
  const View &in = sums ? rows : table, &out = sums ? table : rows;
  if (sums && queries >= kMostQueries)
    return Status::invalid(
        fmt::format("{}: {} queries; a GPU sorts at most {}", contract.name, queries, kMostQueries - 1));
  if (sums && vocab >= kMostQueries)
    return Status::invalid(fmt::format("{}: {} has {} rows; a GPU sorts at most {} values", contract.name,
                                       contract.operands[static_cast<std::size_t>(record.table)].name, vocab,
                                       kMostQueries - 1));

  SegmentPlan p{};
  p.kinds = kinds_of(call.operands);
  p.wide = kRowBytes / static_cast<int>(size_of(in.type)) / (machinery.variant == 2 ? 2 : 1);
  p.access = std::min({alignment_of(in), alignment_of(out), p.wide * static_cast<int>(size_of(in.type))});
  p.whole = dim % p.wide == 0;
  p.threads = 256;
  p.ahead = 8;
  p.index = record.index;
  p.padding_option = record.padding;
  p.padding = call.option(p.padding_option).set;
  p.accumulate = record.accumulates;
  // Few enough passes, and few different kernels: two sizes of digits serve every vocabulary.
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(vocab)));
  p.digit_bits = machinery.variant == 1 || bits <= kFewDigitBits ? kFewDigitBits : kMostDigitBits;

  Program program;
  program.pattern = Pattern::segment;
  program.arguments = arguments_of(call);
  program.arguments.extent[0] = queries;
  program.arguments.extent[1] = dim;
  program.arguments.extent[2] = vocab;
  program.checked = true;
  program.counts = true;
  p.gathers = !sums;

  Launch launch;
  launch.kernel = kernel_name(contract, "");
  launch.block = p.threads;
  launch.persistent = true;
  launch.cooperative = true;
  launch.integer_atomics = true;
  launch.source = source_of(call, machinery, "segment.h", text_of(p), launch, "segment_kernel<Definition, plan>", 2);
  const int groups = p.threads / 32;
  if (sums) {
    launch.shared_bytes = segment_shared_bytes(p, kRowBytes);
    launch.plan = fmt::format(
        "all blocks sort {} indices in passes of {} bits, then sum chains of 32 rows, {} columns per "
        "thread, {} rows on their way; one cooperative launch",
        queries, p.digit_bits, p.wide, p.ahead);
    const std::int64_t slabs = (dim + 32 * p.wide - 1) / (32 * p.wide);
    launch.work =
        std::max({(queries + 31) / 32 * slabs / groups, (vocab + 32 * groups - 1) / (32 * groups), std::int64_t{1}});
    program.workspace_bytes = sort_words(queries, vocab, 1 << p.digit_bits) * 4 + 16;
    // Partial results of indices that occur more than 32 times.
    if (queries > 32) program.workspace_bytes += partial_rows(queries) * dim * (in.type == Type::f16 ? 8 : 4);
  } else {
    launch.plan = fmt::format(
        "all blocks check the indices, then 32 threads per row copy {} columns per thread and turn, "
        "accesses of {} bytes; one cooperative launch",
        p.wide, p.whole ? p.access : static_cast<int>(size_of(out.type)));
    launch.work = (queries + groups - 1) / groups;
  }
  launch.constants = p;
  program.launches.push_back(std::move(launch));
  return program;
}

}  // namespace tokitai::device

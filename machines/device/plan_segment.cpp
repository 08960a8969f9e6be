// Plans of the segment pattern: a check and a gather, or one cooperative launch that sorts and sums.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "machines/device/plan_parts.h"

namespace tokitai::device {
namespace {

constexpr std::int64_t kMostQueries = std::int64_t{1} << 31;
constexpr int kFewDigitBits = 5, kMostDigitBits = 9;
constexpr std::int64_t kPairsPerWorker = 2048;  // as in sort.h

// Words of four bytes that sorting takes at the most: see sort_space in sort.h.
std::int64_t sort_words(std::int64_t queries, std::int64_t vocab, int digit_bits) {
  const std::int64_t workers = (queries + kPairsPerWorker - 1) / kPairsPerWorker;
  return 4 * queries + (workers << digit_bits) + 2 * vocab + 4;
}

}  // namespace

Result<Program> plan_segment(const Call& call, const Machinery& machinery) {
  const Contract& contract = *call.contract;
  const std::int64_t queries = dimension(call, "queries"), dim = dimension(call, "dim"), vocab = dimension(call, "vocab");
  const View& out = call.operand(2);
  const bool sums = contract.operands[2].shape[0] == "vocab";
  if (sums && queries >= kMostQueries)
    return Status::invalid(fmt::format("{}: {} queries; a GPU sorts at most {}", contract.name, queries, kMostQueries - 1));
  if (sums && vocab >= kMostQueries)
    return Status::invalid(fmt::format("{}: vocab = {}; a GPU sorts at most {} values", contract.name, vocab,
                                       kMostQueries - 1));

  SegmentPlan p{};
  p.kinds = kinds_of(call.operands);
  p.wide = size_of(call.operand(0).type) == 2 && machinery.variant != 2 ? 8 : 4;
  p.access = std::min({alignment_of(call.operand(0)), alignment_of(out),
                       p.wide * static_cast<int>(size_of(call.operand(0).type))});
  p.whole = dim % p.wide == 0;
  p.threads = 256;
  p.padding_option = contract.option_index("padding_index");
  p.padding = call.option(p.padding_option).set;
  p.accumulate = call.option_set("accumulate");
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
  p.checked = !sums;

  Launch launch;
  launch.block = p.threads;
  launch.persistent = true;
  if (sums) {
    launch.kernel = kernel_name(contract, "");
    const int digits = 1 << p.digit_bits, groups = p.threads / 32;
    launch.shared_bytes = (groups * digits + digits + groups) * 4;
    launch.plan = fmt::format("all blocks sort {} indices in passes of {} bits, then sum chains of 32 rows, {} columns per "
                              "thread; one cooperative launch",
                              queries, p.digit_bits, p.wide);
    launch.cooperative = true;
    launch.integer_atomics = true;
    launch.source =
        source_of(call, machinery, "segment.h", text_of(p), launch, "segment_kernel<Definition, plan>", 2);
    const std::int64_t slabs = (dim + 32 * p.wide - 1) / (32 * p.wide);
    launch.work = std::max<std::int64_t>((queries + 31) / 32 * slabs / groups, (vocab + 32 * groups - 1) / (32 * groups));
    launch.work = std::max<std::int64_t>(launch.work, 1);
    program.counts = true;
    program.workspace_bytes = sort_words(queries, vocab, p.digit_bits) * 4 + 16;
    // Partial results of indices that occur more than 32 times.
    if (queries > 32)
      program.workspace_bytes += (queries / 32 + 1) * 2 * dim * (call.operand(0).type == Type::f16 ? 8 : 4);
    program.launches.push_back(std::move(launch));
    return program;
  }
  Launch check;
  check.kernel = kernel_name(contract, "_check");
  check.plan = "one thread per index asks whether it is in range";
  check.block = p.threads;
  check.integer_atomics = true;
  check.source =
      source_of(call, machinery, "segment.h", text_of(p), check, "segment_check_kernel<Definition, plan>", 1);
  check.work = std::min<std::int64_t>((queries + p.threads - 1) / p.threads, 4 * machinery.multiprocessors);
  program.launches.push_back(std::move(check));

  launch.kernel = kernel_name(contract, "");
  launch.source = source_of(call, machinery, "segment.h", text_of(p), launch, "segment_kernel<Definition, plan>", 1);
  launch.plan = fmt::format("32 threads per row, {} columns per thread and turn, accesses of {} bytes", p.wide,
                            p.whole ? p.access : static_cast<int>(size_of(out.type)));
  launch.work = (queries + p.threads / 32 - 1) / (p.threads / 32);
  program.launches.push_back(std::move(launch));
  return program;
}

}  // namespace tokitai::device

#include "evidence/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "contract/workspace.h"

namespace tokitai::evidence {
namespace {

using problems::Instance;
using problems::Problem;

// Of a whole bundle, operations and bytes that are read or written. With data made and digested, a replay on the
// reference does 7e7 to 14e7 of them a second on one core, depending on the operator: about an hour. All problems
// of the operators' own files, those for GPUs too, are 2e11.
constexpr std::int64_t kMostWork = 300'000'000'000;

// The contract has accepted the sizes: none is below zero, and no product wraps.
__int128 operand_bytes(const Problem& problem) {
  constexpr std::int64_t kElementBytes = 8;
  __int128 all = 0;
  for (const OperandSpec& spec : problem.contract->operands) {
    if (problem.contract->list) {
      for (const std::int64_t n : problem.list) all += n;
    } else {
      __int128 rows = 1;
      const int last = spec.rank() - 1;
      for (int d = 0; d < std::max(last, 1); ++d) rows *= problem.size(spec.shape[static_cast<std::size_t>(d)]);
      const __int128 cols = last == 0 ? 1 : problem.size(spec.shape[static_cast<std::size_t>(last)]);
      all += rows * (cols + problem.pad);
    }
  }
  return all * kElementBytes;
}

// In words where they differ: every operand there is was recorded, and with these bits.
std::string difference(const NamedDigests& recorded, const NamedDigests& found, std::string_view when) {
  const std::map<std::string, std::string> expected(recorded.begin(), recorded.end());
  for (const auto& [name, digest] : found) {
    const auto at = expected.find(name);
    if (at == expected.end()) return fmt::format("{} {} was not recorded", name, when);
    if (at->second != digest) return fmt::format("{} {} has other bits than were recorded", name, when);
  }
  return expected.size() == found.size() ? "" : fmt::format("operands {} were recorded that it does not have", when);
}

Status cannot_replay(const std::string& line, std::string_view why) {
  return Status::invalid(fmt::format("cannot replay '{:.100}': {}", line, why));
}

}  // namespace

Result<Problem> single_problem(const std::string& line) {
  constexpr std::size_t kLongest = 1000;
  if (line.size() > kLongest || line.find(',') != std::string::npos)
    return cannot_replay(line, "it does not stand for one problem");
  auto parsed = problems::parse_problems(line);
  if (!parsed.ok()) return cannot_replay(line, parsed.status().message());
  if (parsed->size() != 1) return cannot_replay(line, "it does not stand for one problem");
  return parsed->front();
}

// Lines come from a file that anyone may have written: what all of them ask for is looked at before any is run.
Status replayable(const std::vector<ProblemResult>& recorded, int threads) {
  const auto memory = static_cast<__int128>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
  __int128 work = 0;
  for (const ProblemResult& one : recorded) {
    const auto problem = single_problem(one.line);
    if (!problem.ok()) return problem.status();
    const auto call = problems::call_without_memory(problem.value());
    if (!call.ok()) return cannot_replay(one.line, call.status().message());
    if (operand_bytes(problem.value()) + workspace_bytes(call.value(), threads) > memory)
      return cannot_replay(one.line, "its operands and scratch memory take more than half of this machine's memory");
    const Cost cost = cost_of(call.value());
    work += __int128{cost.flops} + cost.bytes_read + cost.bytes_written;
    if (work > kMostWork)
      return cannot_replay(one.line,
                           fmt::format("up to here it is work of {} operations and bytes, and the most that "
                                       "is replayed of one bundle are {}",
                                       static_cast<std::int64_t>(std::min(work, __int128{INT64_MAX})), kMostWork));
  }
  return {};
}

Result<ReplayResult> replay(const std::vector<ProblemResult>& recorded, Device& device, const Progress& progress) {
  if (Status s = replayable(recorded, device.threads()); !s.ok()) return s;
  ReplayResult result;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const auto problem = single_problem(recorded[i].line);
    if (!problem.ok()) return problem.status();
    if (progress) progress(problem.value(), i, recorded.size());
    auto instance = Instance::make(problem.value());
    if (!instance.ok()) return instance.status();
    instance->reset(std::byte{0x5a});
    std::string why = difference(recorded[i].inputs, input_digests(instance.value()), "before the run");
    Call call = instance->call();
    Outcome outcome;  // asked for, so that the call is done when it returns
    if (const Status status = device.run(call, &outcome); !status.ok()) {
      if (status.code() == Code::unavailable) return status;
      if (why.empty()) why = status.message();
    }
    const NamedDigests outputs = output_digests(instance.value());
    if (why.empty()) why = difference(recorded[i].outputs, outputs, "after it");
    result.outputs += static_cast<std::int64_t>(outputs.size());
    ++result.problems;
    if (why.empty()) continue;
    if (result.differing++ == 0) result.first_difference = fmt::format("{}: {}", recorded[i].line, why);
  }
  return result;
}

}  // namespace tokitai::evidence

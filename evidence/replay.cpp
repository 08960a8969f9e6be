#include "evidence/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>

namespace tokitai::evidence {
namespace {

using testing::Instance;
using testing::Problem;

// Of one problem: a quarter of an hour on the slowest device. No problem of the operators' own files comes near.
constexpr std::int64_t kMostOperations = 1'000'000'000'000;

// Lines come from a file that anyone may have written: sizes are looked at before memory is taken.
// The contract has accepted them: none is below zero, and no product wraps.
bool fits(const Problem& problem) {
  const auto most = static_cast<__int128>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) / 2;
  constexpr std::int64_t kElementBytes = 8, kTensorBytes = 1024;  // an empty tensor takes memory too
  __int128 all = 0;
  const auto add = [&](__int128 rows, __int128 cols) {
    all += rows * cols * kElementBytes + kTensorBytes;
    return all <= most;
  };
  for (const OperandSpec& spec : problem.contract->operands) {
    if (problem.contract->list) {
      for (const std::int64_t n : problem.list)
        if (!add(n, 1)) return false;
    } else {
      __int128 rows = 1;
      const int last = spec.rank() - 1;
      for (int d = 0; d < std::max(last, 1); ++d) rows *= problem.size(spec.shape[static_cast<std::size_t>(d)]);
      const __int128 cols = last == 0 ? 1 : problem.size(spec.shape[static_cast<std::size_t>(last)]);
      if (!add(rows, cols + problem.pad)) return false;
    }
  }
  return true;
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
  auto parsed = testing::parse_problems(line);
  if (!parsed.ok()) return cannot_replay(line, parsed.status().message());
  if (parsed->size() != 1) return cannot_replay(line, "it does not stand for one problem");
  return parsed->front();
}

Result<ReplayResult> replay(const std::vector<ProblemResult>& recorded, Device& device, const Progress& progress) {
  ReplayResult result;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const auto problem = single_problem(recorded[i].line);
    if (!problem.ok()) return problem.status();
    const auto planned = testing::call_without_memory(problem.value());
    if (!planned.ok()) return cannot_replay(recorded[i].line, planned.status().message());
    if (!fits(problem.value()))
      return cannot_replay(recorded[i].line, "its operands take more than half of this machine's memory");
    if (const std::int64_t work = cost_of(planned.value()).flops; work > kMostOperations)
      return cannot_replay(recorded[i].line, fmt::format("it is work of {} operations, and the most that is replayed "
                                                         "of one problem are {}",
                                                         work, kMostOperations));
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

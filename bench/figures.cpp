#include "bench/figures.h"

#include <algorithm>

#include "bench/copy.h"
#include "bench/gpu.h"
#include "bench/harness.h"
#include "machines/gpu/driver.h"
#include "problems/instance.h"

namespace tokitai::bench {
namespace {

using problems::Problem;

// Larger than caches, small enough that all operators take seconds.
constexpr std::int64_t kMostBytes = 512 << 20;
constexpr std::int64_t kMostFlops = 4'000'000'000;

// The same problem with its batch cut down; a list keeps its tensors, each of them shorter.
Problem modest(Problem problem) {
  for (;;) {
    const auto call = problems::call_without_memory(problem);
    if (!call.ok()) return problem;  // running it will say why
    const Cost cost = cost_of(call.value());
    if (cost.bytes_read + cost.bytes_written <= kMostBytes && cost.flops <= kMostFlops) return problem;
    if (problem.contract->list) {
      if (std::ranges::max(problem.list) <= 1) return problem;
      for (std::int64_t& length : problem.list) length = (length + 1) / 2;
      continue;
    }
    std::int64_t* size = nullptr;
    for (auto& [name, value] : problem.sizes)
      if (name == problem.contract->batch || (size == nullptr && value > 1 && name == problem.sizes.front().first))
        size = &value;
    if (size == nullptr || *size <= 1) return problem;
    *size /= 2;
  }
}

}  // namespace

Result<std::vector<evidence::SpeedFigures>> speed_figures(const std::vector<std::string>& operators, Device& device,
                                                          const std::function<void(const std::string&)>& say) {
  constexpr double kBudget = 0.2;  // seconds for each
  const bool on_gpu = gpu::names_gpu(device.name());
  const auto problems = problems::for_use(on_gpu ? problems::Use::bench_gpu : problems::Use::bench);
  if (!problems.ok()) return problems.status();
  say("measuring the copy bandwidth");
  const auto copy = Copy::on(device);
  if (!copy.ok()) return copy.status();
  std::vector<evidence::SpeedFigures> all;
  for (const std::string& name : operators) {
    const auto found = std::find_if(problems->begin(), problems->end(),
                                    [&](const Problem& problem) { return problem.contract->name == name; });
    if (found == problems->end()) continue;
    const Problem problem = on_gpu ? *found : modest(*found);
    say("timing " + problem.text());
    const double bandwidth = copy->bandwidth();
    const auto timing = on_gpu ? time_on_gpu(problem, device, kBudget) : time_problem(problem, device, kBudget);
    if (!timing.ok()) return timing.status();
    all.push_back({name, problem.text(), timing->repetitions, timing->cost.bytes_read + timing->cost.bytes_written,
                   timing->cost.flops, timing->seconds, bandwidth});
  }
  return all;
}

}  // namespace tokitai::bench

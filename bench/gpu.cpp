#include "bench/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/device_operands.h"
#include "contract/roles.h"
#include "problems/instance.h"
#include "reports/compare.h"

namespace tokitai::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kWarmUp = 3, kLeast = 20, kMost = 200;

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Calls that were queued one after the other, each between two marks.
struct Timed {
  std::vector<double> device_seconds, host_seconds;
};
template <class Work> Status time_queued(Device& device, int count, Timed& timed, const Work& work) {
  std::vector<Mark> marks;
  for (int i = 0; i <= count; ++i) {
    auto mark = device.mark();
    if (!mark.ok()) return mark.status();
    marks.push_back(std::move(mark).value());
    if (i == count) break;
    const auto begin = Clock::now();
    if (Status s = work(); !s.ok()) return s;
    timed.host_seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  if (Status s = device.wait(); !s.ok()) return s;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    auto seconds = device.seconds_between(marks[at], marks[at + 1]);
    if (!seconds.ok()) return seconds.status();
    timed.device_seconds.push_back(seconds.value());
  }
  return {};
}

// As much of the batch as the cpu device computes in about a second.
std::int64_t piece_of(std::int64_t batch, const Cost& cost) {
  const double work = static_cast<double>(std::max<std::int64_t>(cost.flops, cost.bytes_read / 8));
  const double share = std::min(1.0, 2e9 / work);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(batch) * share), 1, batch);
}

Status run_once(const Call& call, Device& device) {
  Call again = call;
  return device.run(again);
}

// The whole call on the device, once; the first piece of its outputs must be what the cpu device makes of it.
Result<std::int64_t> check_piece(const DeviceOperands& operands, Device& device, const Cost& cost) {
  const Contract& contract = *operands.call().contract;
  const std::int64_t batch = operands.batch();
  const bool cut = can_be_cut(operands.call());
  auto expected = operands.piece(cut ? piece_of(batch, cost) : batch, device);
  if (!expected.ok()) return expected.status();
  if (Status s = run_once(operands.call(), device); !s.ok()) return s;
  if (Status s = device.wait(); !s.ok()) return s;
  auto cpu = open("cpu");
  if (!cpu.ok()) return cpu.status();
  if (Status s = run_once(expected->call, cpu.value()); !s.ok()) return s;
  std::int64_t compared = 0;
  for (std::size_t t = 0; t < sets_of(expected->call).size(); ++t)
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      const View& right = sets_of(expected->call)[t][i];
      if (right.elements() == 0 || !operands.written(i) || (cut && !operands.has_batch(i))) continue;
      View found = right;
      std::vector<std::byte> memory(static_cast<std::size_t>(problems::extent_of(right)));
      found.data = memory.data();
      if (Status s = device.copy_out(found.data, sets_of(expected->there)[t][i].data, problems::extent_of(right));
          !s.ok())
        return s;
      const evidence::Difference d = evidence::compare(right, found);
      compared += d.compared;
      if (d.differing > 0)
        return Status(
            Code::check_failed,
            fmt::format("{}: {} of {} elements of {} differ from the cpu device's, the first at [{}, {}]: {:#x} "
                        "instead of {:#x}",
                        contract.name, d.differing, d.compared, contract.operands[i].name, d.row, d.col, d.found,
                        d.expected));
    }
  if (compared == 0) return Status(Code::check_failed, fmt::format("{}: nothing was compared", contract.name));
  return compared;
}

}  // namespace

Result<double> device_copy_bandwidth(Device& device) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  auto from = device.allocate(kBytes);
  if (!from.ok()) return from.status();
  auto to = device.allocate(kBytes);
  if (!to.ok()) return to.status();
  const auto copy = [&] { return device.copy(to->data(), from->data(), kBytes); };
  Timed warm, timed;
  if (Status s = time_queued(device, kWarmUp, warm, copy); !s.ok()) return s;
  if (Status s = time_queued(device, kLeast, timed, copy); !s.ok()) return s;
  return 2.0 * static_cast<double>(kBytes) / median(timed.device_seconds) / 1e9;
}

Result<Timing> time_on_gpu(const problems::Problem& problem, Device& device, double budget) {
  auto operands = DeviceOperands::make(problem, device);
  if (!operands.ok()) return operands.status();
  Timing timing;
  timing.cost = operands->cost();
  auto checked = check_piece(operands.value(), device, timing.cost);
  if (!checked.ok()) return checked.status();
  timing.checked = checked.value();

  const auto call = [&] { return run_once(operands->call(), device); };
  Timed warm, timed;
  if (Status s = time_queued(device, kWarmUp, warm, call); !s.ok()) return s;
  const double each = std::max(median(warm.device_seconds), 1e-6);
  const int count = static_cast<int>(std::clamp(budget / each, double{kLeast}, double{kMost}));
  if (Status s = time_queued(device, count, timed, call); !s.ok()) return s;
  timing.seconds = median(timed.device_seconds);
  timing.host_seconds = median(timed.host_seconds);
  Call compiled = operands->call();
  auto compile_seconds = device.compile_seconds(compiled);
  if (!compile_seconds.ok()) return compile_seconds.status();
  timing.compile_seconds = compile_seconds.value();
  timing.repetitions = count;
  return timing;
}

}  // namespace tokitai::bench

#include "bench/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "contract/formula.h"
#include "contract/roles.h"
#include "problems/instance.h"
#include "reports/compare.h"

namespace tokitai::bench {
namespace {

using problems::Instance;

// How much of the batch the reference gets to check: about a hundred thousand elements of the largest operand,
// and less where each costs a long chain.
std::int64_t piece(const Instance& instance, const Cost& cost) {
  const double work = static_cast<double>(std::max<std::int64_t>(cost.flops, cost.bytes_read / 8));
  const double share = std::min(1.0, 4e7 / work);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(instance.batch()) * share), 1,
                                  instance.batch());
}

struct Kept {
  View view;  // into the instance's memory
  std::vector<std::byte> bytes;
};

// What the device wrote for the first piece of the batch is kept, the reference writes it again, both are equal.
Result<std::int64_t> check_piece(Instance& instance, Device& device, std::int64_t end) {
  const Contract& contract = *instance.call().contract;
  instance.reset(std::byte{0x5a});
  Call on_device = instance.call(0, end);
  if (Status s = device.run(on_device); !s.ok()) return s;
  std::vector<Kept> kept;
  for (const Operands& set : sets_of(on_device))
    for (std::size_t i = 0; i < contract.operands.size(); ++i) {
      if (!set[i].present() || !instance.written(i)) continue;  // both make a call of the piece alone
      const View& v = set[i];
      const auto* p = static_cast<const std::byte*>(v.data);
      kept.push_back({v, {p, p + v.span() * static_cast<std::int64_t>(size_of(v.type))}});
    }
  instance.reset(std::byte{0xa5});
  Device reference = open("reference").value();
  Call on_reference = instance.call(0, end);
  if (Status s = reference.run(on_reference); !s.ok()) return s;
  std::int64_t compared = 0;
  for (Kept& k : kept) {
    View found = k.view;
    found.data = k.bytes.data();
    const evidence::Difference d = evidence::compare(k.view, found);
    compared += d.compared;
    if (d.differing > 0)
      return Status(Code::check_failed, fmt::format("{}: {} of {} outputs differ from the reference", contract.name,
                                                    d.differing, d.compared));
  }
  return compared;
}

}  // namespace

Result<Timing> time_problem(const problems::Problem& problem, Device& device, double budget) {
  auto made = Instance::make(problem, problems::Filling::repeated);
  if (!made.ok()) return made.status();
  Instance& instance = made.value();
  Timing timing;
  Call call = instance.call();
  if (Status s = check(call); !s.ok()) return s;
  timing.cost = cost_of(call, Values::read);
  auto checked = check_piece(instance, device, piece(instance, timing.cost));
  if (!checked.ok()) return checked.status();
  timing.checked = checked.value();
  instance.reset(std::byte{0});  // every page is there before the clock starts

  std::vector<double> seconds;
  double spent = 0;
  for (int i = 0; i < 2 || seconds.size() < 5 || (spent < budget && seconds.size() < 1000); ++i) {
    Call again = instance.call();
    const auto begin = std::chrono::steady_clock::now();
    if (Status s = device.run(again); !s.ok()) return s;
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i == 0) continue;  // warm-up
    seconds.push_back(elapsed);
    spent += elapsed;
  }
  std::sort(seconds.begin(), seconds.end());
  timing.seconds = seconds[seconds.size() / 2];
  timing.repetitions = static_cast<int>(seconds.size());
  return timing;
}

}  // namespace tokitai::bench

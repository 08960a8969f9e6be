#include "testing/interrupted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "patterns/journal.h"
#include "runtime/journal_keeper.h"

namespace tokitai::testing {

Result<Interrupted> Interrupted::make(const problems::Problem& problem) {
  auto instance = problems::Instance::make(problem);
  if (!instance.ok()) return instance.status();
  Interrupted one;
  one.call_ = instance->call();
  one.operands_ = Journal::bytes(list_elements(one.call_));
  std::int64_t end = one.operands_;
  for (const Operands& set : one.call_.list) {
    auto& offsets = one.offsets_.emplace_back();
    for (std::size_t i = 0; i < set.size(); ++i) {
      offsets[i] = end;
      end += set[i].present() ? (problems::extent_of(set[i]) + 7) / 8 * 8 : 0;
    }
  }
  one.before_.resize(static_cast<std::size_t>(end));
  const Call placed = one.over(one.before_.data());
  for (std::size_t t = 0; t < one.offsets_.size(); ++t)
    for (std::size_t i = 0; i < kMaxOperands; ++i)
      if (one.call_.list[t][i].elements() > 0)
        std::memcpy(placed.list[t][i].data, one.call_.list[t][i].data,
                    static_cast<std::size_t>(problems::extent_of(one.call_.list[t][i])));
  auto reference = open("reference");
  if (!reference.ok()) return reference.status();
  one.after_ = one.before_;
  Call whole = one.over(one.after_.data());
  if (Status s = reference->run(whole); !s.ok()) return s;
  // The journal has been used before.
  std::vector<std::byte> earlier = one.before_;
  Journal(earlier.data()).open(6);
  Call used = one.over(earlier.data());
  Outcome ignored;
  if (Status s = run_behind(earlier.data(), reference.value(), used, ignored); !s.ok()) return s;
  std::memcpy(one.before_.data(), earlier.data(), static_cast<std::size_t>(one.operands_));
  Journal(one.before_.data()).open(7);
  return one;
}

Call Interrupted::over(std::byte* memory) const {
  Call call = call_;
  for (std::size_t t = 0; t < call.list.size(); ++t)
    for (std::size_t i = 0; i < kMaxOperands; ++i) call.list[t][i].data = memory + offsets_[t][i];
  return call;
}

std::span<const std::byte> Interrupted::operands_of(const std::vector<std::byte>& memory) const {
  return std::span(memory).subspan(static_cast<std::size_t>(operands_));
}

std::string Interrupted::taken_on(std::vector<std::byte> memory, Device& other) const {
  const auto same = [&](const std::vector<std::byte>& expected) {
    return std::ranges::equal(operands_of(memory), operands_of(expected));
  };
  const bool begun = Journal(memory.data()).begun();
  if (!begun && !same(before_)) return "something was written before the journal says so";
  Call call = over(memory.data());
  Outcome outcome;
  if (Status s = run_behind(memory.data(), other, call, outcome); !s.ok()) return s.message();
  if (outcome.skipped) return "it was called off";
  return same(after_) ? "" : "it did not come to the same bits";
}

Interrupted::Found Interrupted::at_every_instant(Device& ended, Device& other,
                                                 const std::vector<std::byte>* state) const {
  Found found;
  const std::vector<std::byte>& from = state != nullptr ? *state : before_;
  const SharedMemory memory = shared_memory(from.size());
  if (memory == nullptr) return found;
  std::memcpy(memory.get(), from.data(), from.size());
  const std::span<const std::byte> shared(memory.get(), from.size());
  found.traced = step_through(
      shared,
      [&] {
        Call call = over(memory.get());
        Outcome outcome;
        if (!run_behind(memory.get(), ended, call, outcome).ok()) std::abort();
      },
      [&] {
        found.states.emplace_back(shared.begin(), shared.end());
        const std::string failure = taken_on(found.states.back(), other);
        if (!failure.empty() && found.first_failure.empty())
          found.first_failure = fmt::format("instant {}: {}", found.instants, failure);
        ++found.instants;
      });
  if (found.traced && !std::ranges::equal(operands_of(found.states.back()), operands_of(after_)))
    found.first_failure = "it did not come to its end";
  return found;
}

}  // namespace tokitai::testing

#include "bench/device_operands.h"

#include <algorithm>
#include <cstring>

#include "contract/formula.h"
#include "contract/roles.h"
#include "problems/instance.h"

namespace tokitai::bench {
namespace {

constexpr std::int64_t kDrawn = std::int64_t{1} << 20;
constexpr int kDevicePoison = 0x5a, kHostPoison = 0xa5;

}  // namespace

bool DeviceOperands::written(std::size_t operand) const { return writes(call_.contract->operands[operand]); }

bool DeviceOperands::read(std::size_t operand) const {
  const OperandSpec& spec = call_.contract->operands[operand];
  return reads(call_, spec) || over_[operand] >= 0;
}

bool DeviceOperands::has_batch(std::size_t operand) const { return problems::has_batch(*call_.contract, operand); }

Result<DeviceOperands> DeviceOperands::make(const problems::Problem& problem, Device& device) {
  auto call = problems::call_without_memory(problem);
  if (!call.ok()) return call.status();
  DeviceOperands made;
  made.call_ = std::move(call).value();
  made.over_.fill(-1);
  made.batch_ = std::max<std::int64_t>(problems::batch_of(problem), 1);
  for (std::size_t t = 0; t < sets_of(made.call_).size(); ++t)
    if (Status s = made.place(problem, sets_of(made.call_)[t], problem.shift_of(t), device); !s.ok()) return s;
  made.patterns_.clear();  // the memory goes back; what is queued comes first
  return made;
}

Status DeviceOperands::place(const problems::Problem& problem, Operands& set, std::int64_t shift, Device& device) {
  const Contract& contract = *call_.contract;
  for (std::size_t i = 0; i < contract.operands.size(); ++i) {
    View& view = set[i];
    if (view.elements() == 0) continue;
    over_[i] = problem.in_place ? lies_over(contract, set, i, problem.over) : -1;
    if (over_[i] >= 0) {
      view.data = set[static_cast<std::size_t>(over_[i])].data;
      continue;
    }
    const std::int64_t begin = shift * static_cast<std::int64_t>(size_of(view.type));
    auto memory = device.allocate(begin + problems::extent_of(view));
    if (!memory.ok()) return memory.status();
    view.data = static_cast<std::byte*>(memory->data()) + begin;
    buffers_.push_back(std::move(memory).value());
    if (contract.operands[i].type == TypeRule::index) {
      if (Status s = put_indices(problem, i, view, device); !s.ok()) return s;
      continue;
    }
    auto from = pattern(problem, i, view, device);
    if (!from.ok()) return from.status();
    if (Status s = spread(*from.value(), view, device); !s.ok()) return s;
  }
  return {};
}

Status DeviceOperands::put_indices(const problems::Problem& problem, std::size_t operand, const View& view,
                                   Device& device) {
  const OperandSpec& spec = call_.contract->operands[operand];
  std::vector<std::byte>& host = indices_[operand];
  host.resize(static_cast<std::size_t>(problems::extent_of(view)));
  View here = view;
  here.data = host.data();
  problems::fill_integers(problem, call_, spec, here, operand + 1);
  return device.copy_in(view.data, host.data(), static_cast<std::int64_t>(host.size()));
}

Cost DeviceOperands::cost() const {
  Call here = call_;
  for (const auto& [operand, bytes] : indices_) here.operands[operand].data = const_cast<std::byte*>(bytes.data());
  return cost_of(here, Values::read);
}

Result<const DeviceOperands::Pattern*> DeviceOperands::pattern(const problems::Problem& problem, std::size_t operand,
                                                               const View& view, Device& device) {
  if (const auto found = patterns_.find(operand); found != patterns_.end()) return &found->second;
  const OperandSpec& spec = call_.contract->operands[operand];
  std::vector<std::byte> host(static_cast<std::size_t>(kDrawn) * size_of(view.type), std::byte{kDevicePoison});
  const bool sums = view.type == Type::i64;  // a count: nothing reads it
  if (read(operand) && !sums) {
    const View drawn{host.data(), view.type, 1, {kDrawn, 1}, 1};
    problems::fill(drawn, problem.family, problems::kSeed, operand + 1, spec.nonnegative, problems::Filling::whole);
  }
  Pattern& made = patterns_[operand];
  made.bytes = static_cast<std::int64_t>(host.size());
  auto memory = device.allocate(made.bytes);
  if (!memory.ok()) return memory.status();
  made.memory = std::move(memory).value();
  if (Status s = device.copy_in(made.memory.data(), host.data(), made.bytes); !s.ok()) return s;
  return &made;
}

// What is there already is copied behind itself: twice as much each time.
Status DeviceOperands::spread(const Pattern& pattern, const View& view, Device& device) {
  auto* to = static_cast<std::byte*>(view.data);
  const std::int64_t bytes = problems::extent_of(view);
  std::int64_t done = std::min(pattern.bytes, bytes);
  if (Status s = device.copy(to, pattern.memory.data(), done); !s.ok()) return s;
  for (; done < bytes; done *= 2)
    if (Status s = device.copy(to + done, to, std::min(done, bytes - done)); !s.ok()) return s;
  return {};
}

Result<Piece> DeviceOperands::piece(std::int64_t end, Device& device) const {
  const Call there = problems::cut(call_, 0, end);
  Piece piece{there, there, {}};
  for (std::size_t t = 0; t < sets_of(there).size(); ++t) {
    Operands& set = sets_of(piece.call)[t];
    const Operands& on_device = sets_of(there)[t];
    for (std::size_t i = 0; i < call_.contract->operands.size(); ++i) {
      View& view = set[i];
      if (view.elements() == 0) continue;
      bool shared = false;
      for (std::size_t j = 0; j < i && !shared; ++j)
        if (on_device[j].data == on_device[i].data) {
          view.data = set[j].data;
          shared = true;
        }
      if (shared) continue;
      const std::int64_t bytes = problems::extent_of(view);
      piece.memory.emplace_back(static_cast<std::size_t>(bytes), std::byte{kHostPoison});
      view.data = piece.memory.back().data();
      if (!read(i)) continue;
      if (Status s = device.copy_out(view.data, on_device[i].data, bytes); !s.ok()) return s;
    }
  }
  return piece;
}

}  // namespace tokitai::bench

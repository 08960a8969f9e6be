#include "machines/gpu/control.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/answer.h"

namespace tokitai::gpu {
namespace {

// A refusal's sentence shows the value it refused: labels and indices are brought where the host can read them.
Status status_with_values(Queue& queue, const Call& call, const Answer& answer, Outcome& outcome) {
  if (answer.kind != Answer::refused) return status_of(call, answer, outcome);
  Call readable = call;
  std::vector<std::vector<std::byte>> values;
  for (std::size_t i = 0; i < call.contract->operands.size(); ++i) {
    View& view = readable.operands[i];
    if (call.contract->operands[i].type != TypeRule::index || view.elements() == 0) continue;
    auto place = queue.context().place(view.data);
    if (!place.ok()) return place.status();
    if (place->kind != Place::device) continue;  // the host reads it as it is
    const std::int64_t bytes = view.rows() * static_cast<std::int64_t>(size_of(view.type));
    values.emplace_back(static_cast<std::size_t>(bytes));
    if (Status s = queue.copy_out(values.back().data(), view.data, Rows::flat(bytes), false); !s.ok()) return s;
    view.data = values.back().data();
  }
  return status_of(readable, answer, outcome);
}

// Long after the call its memory may be gone, and what the host would read there is nobody's.
bool still_there(Queue& queue, const Call& call) {
  for (std::size_t i = 0; i < call.contract->operands.size(); ++i) {
    if (call.contract->operands[i].type != TypeRule::index || call.operands[i].elements() == 0) continue;
    auto place = queue.context().place(call.operands[i].data);
    if (!place.ok() || (place->kind != Place::device && place->kind != Place::managed)) return false;
  }
  return true;
}

}  // namespace

Control::~Control() {
  if (pinned_ == nullptr) return;
  static_cast<void>(queue_.context().wait());  // copies into it may be on their way
  queue_.context().release_pinned(pinned_);
}

Status Control::open() {
  auto ring = OwnedBlock::make(queue_, kBytes);
  if (!ring.ok()) return ring.status();
  auto fresh = OwnedBlock::make(queue_, kHalfBytes);
  if (!fresh.ok()) return fresh.status();
  for (Half& half : halves_) {
    auto event = queue_.context().make_event(false);
    if (!event.ok()) return event.status();
    half.read.emplace(std::move(event).value());
  }
  std::vector<std::byte> text(static_cast<std::size_t>(kHalfBytes), std::byte{0});
  for (std::int64_t i = 0; i < kHalfSlots; ++i) std::memset(text.data() + i * kSlotBytes, 0xff, sizeof(std::uint64_t));
  if (Status s = queue_.copy_in(fresh->data(), text.data(), Rows::flat(kHalfBytes), false); !s.ok()) return s;
  auto pinned = queue_.context().allocate_pinned(kBytes + 64);
  if (!pinned.ok()) return pinned.status();
  pinned_ = static_cast<std::byte*>(pinned.value());
  ring_ = std::move(ring).value();
  fresh_ = std::move(fresh).value();
  return {};
}

Status Control::renew(int half) {
  if (ring_.data() == nullptr)
    if (Status s = open(); !s.ok()) return s;
  if (!halves_[1 - half].calls.empty())
    if (Status s = read_out(1 - half); !s.ok()) return s;
  if (!halves_[half].calls.empty()) {
    if (Status s = halves_[half].read->wait(); !s.ok()) return s;
    collect(half);
  }
  return queue_.queue_copy(ring_.data() + half * kHalfBytes, fresh_.data(), kHalfBytes);
}

Status Control::read_out(int half) {
  if (Status s = queue_.queue_copy_out(pinned_ + half * kHalfBytes, ring_.data() + half * kHalfBytes, kHalfBytes);
      !s.ok())
    return s;
  return halves_[half].read->record(queue_.stream());
}

Result<Control::Slot> Control::take() {
  if (next_ % kHalfSlots == 0)
    if (Status s = renew(next_ / kHalfSlots); !s.ok()) return s;
  std::byte* block = ring_.data() + next_ * kSlotBytes;
  const Slot slot{next_, reinterpret_cast<std::uint64_t*>(block),
                  reinterpret_cast<std::uint64_t*>(block + kCountedOffset),
                  reinterpret_cast<std::uint32_t*>(block + kCounterOffset)};
  next_ = (next_ + 1) % kSlots;
  return slot;
}

Status Control::answer(const Slot& slot, const Call& call, device::Pattern pattern, Outcome& outcome) {
  std::byte* here = pinned_ + kBytes;
  if (Status s = queue_.queue_copy_out(here, slot.flag, sizeof(std::uint64_t)); !s.ok()) return s;
  if (Status s = queue_.wait(); !s.ok()) return s;
  std::uint64_t flag = 0;
  std::memcpy(&flag, here, sizeof(flag));
  return status_with_values(queue_, call, device::answer_of(pattern, flag), outcome);
}

void Control::remember(const Slot& slot, const Call& call, device::Pattern pattern) {
  std::vector<Remembered>& calls = halves_[slot.index / kHalfSlots].calls;
  if (calls.empty()) calls.reserve(kHalfSlots);
  calls.push_back({slot.index, call, pattern});
}

void Control::collect(int half) {
  std::vector<Remembered> calls;
  calls.swap(halves_[half].calls);
  for (const Remembered& one : calls) {
    std::uint64_t flag = 0;
    std::memcpy(&flag, pinned_ + one.slot * kSlotBytes, sizeof(flag));
    const Answer answer = device::answer_of(one.pattern, flag);
    if (answer.kind == Answer::good) continue;
    Outcome ignored;
    const bool readable = answer.kind != Answer::refused || still_there(queue_, one.call);
    Status status = readable ? status_with_values(queue_, one.call, answer, ignored)
                             : Status::invalid(fmt::format("{}: position {} was refused; its memory is gone",
                                                           one.call.contract->name, answer.position));
    if (status.ok()) continue;
    if (answer.kind == Answer::refused && readable)
      status = Status(status.code(), status.message() + " (a call queued before; the value as it is now)");
    if (failed_.ok())
      failed_ = std::move(status);
    else
      ++more_failed_;
  }
}

Status Control::settle() {
  const int now = (next_ + kSlots - 1) % kSlots / kHalfSlots;  // the half of the last call
  if (!halves_[now].calls.empty())
    if (Status s = read_out(now); !s.ok()) return s;
  if (Status s = queue_.wait(); !s.ok()) return s;
  for (const int half : {1 - now, now}) collect(half);
  if (failed_.ok()) return {};
  Status first = std::exchange(failed_, {});
  const std::int64_t more = std::exchange(more_failed_, 0);
  return more == 0 ? first : Status(first.code(), fmt::format("{}; {} more calls failed", first.message(), more));
}

}  // namespace tokitai::gpu

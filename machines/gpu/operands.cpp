#include "machines/gpu/operands.h"

#include <fmt/format.h>

namespace tokitai::gpu {
namespace {

constexpr std::size_t kRemembered = 8;  // allocations looked through before the driver is asked

std::int64_t bytes_from_first_to_last(const View& v) { return v.span() * static_cast<std::int64_t>(size_of(v.type)); }

bool same_view(const View& a, const View& b) {
  return a.data == b.data && a.type == b.type && a.rank == b.rank && a.shape == b.shape &&
         (a.rank == 1 || (a.row_stride == b.row_stride && a.outer_stride == b.outer_stride));
}

// Rows keep their distance on the device, so that the kernel meets what the caller gave; far apart, they move closer.
void move_closer(View& v) {
  constexpr std::int64_t kSpare = 65536;
  const std::int64_t gaps = v.evenly_spaced() ? v.rows() * (v.row_stride - v.cols()) : v.span() - v.elements();
  if (v.rank >= 2 && gaps > v.elements() + kSpare) make_dense(v);
}

}  // namespace

// An operand is used where it lies only if its whole extent is part of one allocation of this device.
Status StagedOperands::locate(const Call& call, const View& view, std::size_t operand, Place& place) {
  const auto* begin = static_cast<const std::byte*>(view.data);
  const std::int64_t bytes = bytes_from_first_to_last(view);
  bool found = false;
  for (std::size_t i = 0; i < known_.size() && i < kRemembered && !found; ++i) {
    place = known_[known_.size() - 1 - i];
    found = begin >= place.begin && begin < place.begin + place.bytes;
  }
  if (!found) {
    auto asked = context_.place(view.data);
    if (!asked.ok()) return asked.status();
    place = asked.value();
    if (place.kind != Place::host) known_.push_back(place);
  }
  const std::string_view name = call.contract->operands[operand].name;
  if (place.kind == Place::device && place.owner != context_.facts().index)
    return Status::invalid(fmt::format("{}: {} lies in the memory of {}:{}; the call runs on {}", call.contract->name,
                                       name, context_.driver().prefix(), place.owner, context_.name()));
  if (place.kind == Place::device && place.bytes > 0 && bytes > place.begin + place.bytes - begin)
    return Status::invalid(fmt::format("{}: {} takes {} bytes, but its memory on {} ends after {}", call.contract->name,
                                       name, bytes, context_.name(), place.begin + place.bytes - begin));
  return {};
}

Status StagedOperands::collect(const Call& call, Operands& set) {
  for (std::size_t i = 0; i < call.contract->operands.size(); ++i) {
    View& view = set[i];
    if (view.elements() == 0) continue;
    Place place;
    if (Status s = locate(call, view, i, place); !s.ok()) return s;
    if (place.kind == Place::device || place.kind == Place::managed) continue;
    const OperandSpec& spec = call.contract->operands[i];
    const bool read = reads(call, spec), written = spec.role != Role::in;
    // In a list nothing may share memory; elsewhere the same view is the same memory on the device too.
    Copy* shared = nullptr;
    if (!call.contract->list)
      for (Copy& copy : copies_)
        if (same_view(copy.host, view)) shared = &copy;
    if (shared == nullptr) {
      Copy copy{view, view, false, false, call.contract->has_once(spec), place.kind == Place::pinned, {}};
      move_closer(copy.device);
      const auto offset = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.data) % 16);
      auto block = OwnedBlock::make(queue_, bytes_from_first_to_last(copy.device) + offset);
      if (!block.ok()) return block.status();
      copy.block = std::move(block).value();
      copy.device.data = copy.block.data() + offset;  // aligned as the caller's
      shared = &copies_.emplace_back(std::move(copy));
    }
    shared->read |= read;
    shared->written |= written;
    view = shared->device;
  }
  return {};
}

std::vector<const void*> StagedOperands::addresses() const {
  std::vector<const void*> all;
  all.reserve(known_.size());
  for (const Place& place : known_) all.push_back(place.begin);
  return all;
}

template <class F> Status StagedOperands::for_blocks(const Copy& copy, const F& f) {
  const View &host = copy.host, &device = copy.device;
  const auto size = static_cast<std::int64_t>(size_of(host.type));
  const Rows rows =
      host.rank < 2 ? Rows::flat(host.rows() * size)
                    : Rows{host.block_lines(), host.cols() * size, host.row_stride * size, device.row_stride * size};
  for (std::int64_t i = 0; i < host.blocks(); ++i) {
    bytes_copied_ += rows.rows * rows.bytes;
    const std::int64_t first = i * host.block_lines();
    if (Status s = f(static_cast<std::byte*>(device.data) + device.line_offset(first) * size,
                     static_cast<std::byte*>(host.data) + host.line_offset(first) * size, rows);
        !s.ok())
      return s;
  }
  return {};
}

Status StagedOperands::fetch(Copy& copy) {
  return for_blocks(copy, [&](std::byte* device, std::byte* host, const Rows& rows) {
    return queue_.copy_in(device, host, rows, copy.pinned);
  });
}

Result<const Call*> StagedOperands::bring(const Call& call) {
  // The common case, all on the device, must not copy the call.
  bool all_there = true;
  const auto look = [&](const Operands& set) -> Status {
    for (std::size_t i = 0; i < call.contract->operands.size() && all_there; ++i) {
      if (set[i].elements() == 0) continue;
      Place place;
      if (Status s = locate(call, set[i], i, place); !s.ok()) return s;
      all_there = place.kind == Place::device || place.kind == Place::managed;
    }
    return {};
  };
  if (!call.contract->list)
    if (Status s = look(call.operands); !s.ok()) return s;
  for (const Operands& set : call.list)
    if (Status s = look(set); !s.ok()) return s;
  if (all_there) return &call;

  call_ = call;
  if (!call.contract->list)
    if (Status s = collect(call, call_.operands); !s.ok()) return s;
  for (Operands& set : call_.list)
    if (Status s = collect(call, set); !s.ok()) return s;
  for (Copy& copy : copies_)
    if (copy.read)
      if (Status s = fetch(copy); !s.ok()) return s;
  return &call_;
}

Status StagedOperands::take_back(bool skipped) {
  bool wait = false;
  for (Copy& copy : copies_) {
    if (!copy.written || (skipped && !copy.once)) continue;
    wait |= copy.pinned;
    if (Status s = for_blocks(copy, [&](std::byte* device, std::byte* host,
                                        const Rows& rows) { return queue_.copy_out(host, device, rows, copy.pinned); });
        !s.ok())
      return s;
  }
  return wait ? queue_.wait() : Status();
}

}  // namespace tokitai::gpu

#include "machines/gpu/operands.h"

#include <fmt/format.h>

namespace tokitai::gpu {
namespace {

constexpr std::size_t kRemembered = 8;  // allocations looked through before the driver is asked

std::int64_t bytes_from_first_to_last(const View& v) {
  const std::int64_t elements = v.rank == 2 ? (v.rows() - 1) * v.row_stride + v.cols() : v.rows();
  return elements * static_cast<std::int64_t>(size_of(v.type));
}

bool same_view(const View& a, const View& b) {
  return a.data == b.data && a.type == b.type && a.rank == b.rank && a.shape == b.shape &&
         (a.rank == 1 || a.row_stride == b.row_stride);
}

// Rows keep their distance on the device, so that the kernel meets what the caller gave; far apart, they move closer.
std::int64_t stride_on_device(const View& v) {
  constexpr std::int64_t kSpare = 65536;
  const bool near = v.rows() * (v.row_stride - v.cols()) <= v.elements() + kSpare;
  return v.rank != 2 || near ? v.row_stride : v.cols();
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
      Copy copy{view, view, false, false, place.kind == Place::pinned, {}};
      copy.device.row_stride = stride_on_device(view);
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

Rows StagedOperands::rows_of(const Copy& copy) {
  const auto size = static_cast<std::int64_t>(size_of(copy.host.type));
  if (copy.host.rank != 2) return Rows::flat(copy.host.rows() * size);
  return {copy.host.rows(), copy.host.cols() * size, copy.host.row_stride * size, copy.device.row_stride * size};
}

Status StagedOperands::fetch(Copy& copy) {
  const Rows rows = rows_of(copy);
  bytes_copied_ += rows.rows * rows.bytes;
  return queue_.copy_in(copy.device.data, copy.host.data, rows, copy.pinned);
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

Status StagedOperands::take_back() {
  bool wait = false;
  for (Copy& copy : copies_) {
    if (!copy.written) continue;
    const Rows rows = rows_of(copy);
    bytes_copied_ += rows.rows * rows.bytes;
    wait |= copy.pinned;
    if (Status s = queue_.copy_out(copy.host.data, copy.device.data, rows, copy.pinned); !s.ok()) return s;
  }
  return wait ? queue_.wait() : Status();
}

}  // namespace tokitai::gpu

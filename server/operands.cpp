#include "server/operands.h"

#include <fmt/format.h>

#include <cstring>

#include "patterns/journal.h"

namespace tokitai::server {
namespace {

constexpr std::int64_t kAlignment = 256;  // as allocate() promises

// Rows of one view from or to a place without gaps.
void copy_rows(const View& view, std::byte* packed, bool in) {
  for (const Buffers::Rows& rows : rows_of(view, 0))
    for (std::int64_t i = 0; i < rows.count; ++i, packed += rows.bytes) {
      std::byte* own = static_cast<std::byte*>(view.data) + rows.begin + i * rows.pitch;
      std::memcpy(in ? packed : own, in ? own : packed, static_cast<std::size_t>(rows.bytes));
    }
}

}  // namespace

Status Staging::hold(std::int64_t bytes) {
  if (bytes <= bytes_) return {};
  trim();
  auto offset = arena_.reserve(whole_pages(bytes));
  if (!offset.ok()) return offset.status();
  offset_ = offset.value();
  bytes_ = whole_pages(bytes);
  return {};
}
void Staging::trim() {
  if (bytes_ > 0) arena_.release(offset_, bytes_);
  bytes_ = 0;
}

Status PlacedOperands::place_one(const OperandSpec& spec, View& view, Place& place) {
  if (view.elements() == 0) return {};
  const std::int64_t extent = extent_of(view);
  const bool read = reads(placed_.call, spec), once = placed_.call.contract->has_once(spec);
  if (Buffers::Buffer* buffer = buffers_.find(view.data, extent)) {
    const auto offset = static_cast<const std::byte*>(view.data) - buffer->address;
    const std::int64_t front = buffer->half[static_cast<std::size_t>(buffer->front)] + offset;
    place = {front, front};
    const bool in_place = writes(spec) && journal_ != nullptr;
    const bool apart = writes(spec) && !in_place;
    if (apart)
      if (Status s = buffers_.prepare(*buffer); !s.ok()) return s;
    buffers_.use(*buffer);
    in_place_ = in_place_ || in_place;
    if (!apart) return {};
    place.write = buffer->half[static_cast<std::size_t>(1 - buffer->front)] + offset;
    if (!read) place.read = place.write;
    for (const Buffers::Rows& rows : rows_of(view, offset)) {
      written_[buffer].push_back(rows);
      if (once) written_once_[buffer].push_back(rows);
    }
    return {};
  }
  copies_.push_back({view, read, writes(spec), once, staged_bytes_});
  staged_.push_back(&place);
  if (view.rank >= 2) make_dense(view);
  staged_bytes_ += (extent_of(view) + kAlignment - 1) / kAlignment * kAlignment;
  return {};
}

Status PlacedOperands::place(const Call& call) {
  placed_.call = call;
  if (!Journal::suits(*call.contract)) journal_ = nullptr;
  const std::vector<OperandSpec>& specs = call.contract->operands;
  placed_.places.resize(call.contract->list ? call.list.size() : 1);
  for (std::size_t t = 0; t < placed_.places.size(); ++t)
    for (std::size_t i = 0; i < specs.size(); ++i)
      if (Status s = place_one(specs[i], (call.contract->list ? placed_.call.list[t] : placed_.call.operands)[i],
                               placed_.places[t][i]);
          !s.ok())
        return s;
  if (Status s = staging_.hold(staged_bytes_); !s.ok()) return s;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    copies_[i].offset += staging_.offset();
    *staged_[i] = {copies_[i].offset, copies_[i].offset};
  }
  return in_place_ ? open_journal() : Status();
}

Status PlacedOperands::open_journal() {
  if (Status s = journal_->memory.hold(Journal::bytes(list_elements(placed_.call))); !s.ok()) return s;
  placed_.journal = journal_->memory.offset();
  Journal(arena_.at(placed_.journal)).open(++journal_->calls);
  return {};
}

bool PlacedOperands::begun() const { return in_place_ && Journal(arena_.at(placed_.journal)).begun(); }

void PlacedOperands::bring() {
  if (begun()) return;
  for (const Copy& copy : copies_) {
    if (!copy.read) continue;
    copy_rows(copy.own, arena_.at(copy.offset), true);
    bytes_copied_ += copy.own.elements() * static_cast<std::int64_t>(size_of(copy.own.type));
  }
}

void PlacedOperands::commit(bool skipped) {
  for (const Copy& copy : copies_) {
    if (!copy.written || (skipped && !copy.once)) continue;
    copy_rows(copy.own, arena_.at(copy.offset), false);
    bytes_copied_ += copy.own.elements() * static_cast<std::int64_t>(size_of(copy.own.type));
  }
  for (const auto& [buffer, rows] : skipped ? written_once_ : written_) buffers_.commit(*buffer, rows);
}

}  // namespace tokitai::server

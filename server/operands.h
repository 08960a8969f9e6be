// The operands of one call in the shared memory: those in a buffer of this device are read and written there, the
// caller's own are staged: copied in, and what was written is copied out again, rows only.
//
// A buffer is written in its back half and committed from there. Where the worker's device keeps a journal, a call over
// a list is updated in place instead.
#pragma once
#include <map>
#include <vector>

#include "contract/roles.h"
#include "server/buffers.h"
#include "server/message.h"

namespace tokitai::server {

// Shared memory for operands of the caller's own, kept for the next call.
class Staging {
 public:
  explicit Staging(Arena& arena) : arena_(arena) {}
  ~Staging() { trim(); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  Status hold(std::int64_t bytes);  // what it held before is lost where it has to grow
  std::int64_t offset() const { return offset_; }
  std::int64_t size() const { return bytes_; }
  void trim();

 private:
  Arena& arena_;
  std::int64_t offset_ = 0, bytes_ = 0;
};

// Room for the journal of one call after the other.
struct JournalRoom {
  explicit JournalRoom(Arena& arena) : memory(arena) {}
  Staging memory;
  std::uint64_t calls = 0;  // that it has been used for
};

class PlacedOperands {
 public:
  // Without room for a journal, none is kept.
  PlacedOperands(Arena& arena, Buffers& buffers, Staging& staging, JournalRoom* journal)
      : arena_(arena), buffers_(buffers), staging_(staging), journal_(journal) {}

  // Finds or makes a place for every operand. Nothing the caller can see is changed.
  Status place(const Call& call);
  // Copies in what is staged. Before every attempt: a worker that died may have written over it. Where it has begun to
  // update in place, what is staged is as far as the rest.
  void bring();
  // Whether what the caller sees is updated where it lies, and whether that has begun: then it has to be finished.
  bool in_place() const { return in_place_; }
  bool begun() const;
  // The caller's tensors become what the worker wrote; of a step that was called off only what the call has once.
  void commit(bool skipped);

  // The call as it is sent: staged matrices have no gaps between rows.
  const PlacedCall& placed() const { return placed_; }
  std::int64_t bytes_copied() const { return bytes_copied_; }

 private:
  struct Copy {
    View own;
    bool read, written, once;
    std::int64_t offset;
  };
  Status place_one(const OperandSpec& spec, View& view, Place& place);
  Status open_journal();

  Arena& arena_;
  Buffers& buffers_;
  Staging& staging_;
  JournalRoom* journal_;
  PlacedCall placed_;
  std::vector<Copy> copies_;
  std::vector<Place*> staged_;  // as many as copies_
  using Written = std::map<Buffers::Buffer*, std::vector<Buffers::Rows>>;
  Written written_, written_once_;  // all of it, and what the call has once
  bool in_place_ = false;
  std::int64_t staged_bytes_ = 0, bytes_copied_ = 0;
};

}  // namespace tokitai::server

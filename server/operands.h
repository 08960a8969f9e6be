// The operands of one call in the shared memory: those in a buffer of this device are read and written there, the
// caller's own are staged: copied in, and what was written is copied out again, rows only.
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
  void abandon() { bytes_ = 0; }  // in a fork: it is another process's

 private:
  Arena& arena_;
  std::int64_t offset_ = 0, bytes_ = 0;
};

class PlacedOperands {
 public:
  PlacedOperands(Arena& arena, Buffers& buffers, Staging& staging)
      : arena_(arena), buffers_(buffers), staging_(staging) {}

  // Finds or makes a place for every operand. Nothing the caller can see is changed.
  Status place(const Call& call);
  // Copies in what is staged. Before every attempt: a worker that died may have written over it.
  void bring();
  // The caller's tensors become what the worker wrote.
  void commit();

  // The call as it is sent: staged matrices have no gaps between rows.
  const Call& call() const { return call_; }
  const std::vector<Places>& places() const { return places_; }
  std::int64_t bytes_copied() const { return bytes_copied_; }

 private:
  struct Copy {
    View own;
    bool read, written;
    std::int64_t offset;
  };
  Status place_one(const OperandSpec& spec, View& view, Place& place);

  Arena& arena_;
  Buffers& buffers_;
  Staging& staging_;
  Call call_;
  std::vector<Places> places_;
  std::vector<Copy> copies_;
  std::vector<Place*> staged_;  // as many as copies_
  std::map<Buffers::Buffer*, std::vector<Buffers::Rows>> written_;
  std::int64_t staged_bytes_ = 0, bytes_copied_ = 0;
};

}  // namespace tokitai::server

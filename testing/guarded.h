// A call's operands against pages that nobody may touch: an access outside of the views ends the process.
#pragma once
#include <map>
#include <memory>

#include "problems/instance.h"

namespace tokitai::testing {

enum class Against : bool { begin, end };

// A copy of an operand between two such pages, which it touches on one side.
class GuardedCopy {
 public:
  GuardedCopy(const View& view, Against side);
  ~GuardedCopy();
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;
  std::byte* data() const { return data_; }  // nullptr: there is no memory

 private:
  std::byte *all_ = nullptr, *data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A call over such copies. Views over one memory stay over one.
class GuardedCall {
 public:
  GuardedCall(const Call& call, Against side);
  bool has_memory() const;
  // The call, and its operand sets: one, or one per tensor of a list.
  Call call() const { return call_; }
  std::vector<Operands> sets() const { return call_.contract->list ? call_.list : std::vector{call_.operands}; }

 private:
  void guard(Operands& operands, Against side);

  Call call_;
  std::map<const void*, std::unique_ptr<GuardedCopy>> copies_;
};

}  // namespace tokitai::testing

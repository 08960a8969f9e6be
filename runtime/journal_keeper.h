// Calls over lists that may be ended at any instant and taken on by another process (patterns/journal.h): what a worker
// asks of the device that it wraps, and nobody else.
#pragma once
#include <cstddef>

#include "tokitai/device.h"

namespace tokitai {

// What a machine that can keep a journal implements beside Machine.
class JournalKeeper {
 public:
  virtual ~JournalKeeper() = default;
  // As Machine::run. The journal lies in memory that outlives the process; none: nothing is kept.
  virtual Status run_behind(std::byte* journal, const Call& call, Outcome& outcome) = 0;
};

bool keeps_journal(const Device& device);
// As Device::run. A device that keeps no journal is unavailable for a call that has one.
Status run_behind(std::byte* journal, Device& device, Call& call, Outcome& outcome);

}  // namespace tokitai

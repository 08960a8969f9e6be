#include "runtime/journal_keeper.h"

#include "runtime/door.h"

namespace tokitai {

bool keeps_journal(const Device& device) { return Door::machine(device).journal_keeper() != nullptr; }

Status run_behind(std::byte* journal, Device& device, Call& call, Outcome& outcome) {
  return Door::pass(device, call, [&](Machine& machine) -> Status {
    if (journal == nullptr) return machine.run(call, outcome);
    if (JournalKeeper* keeper = machine.journal_keeper()) return keeper->run_behind(journal, call, outcome);
    return {Code::unavailable, fmt::format("the device {} keeps no journal", device.name())};
  });
}

}  // namespace tokitai

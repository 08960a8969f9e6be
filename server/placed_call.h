// A call's message as a call over the shared memory, for whoever runs it: a worker, or the caller where workers fail.
#pragma once
#include "server/message.h"

namespace tokitai::server {

struct CallOverMemory {
  Call call;
  std::byte* journal = nullptr;  // none: it has none
};
// Every place lies inside of the `bytes` of shared memory. What is read in one place and written in another has been
// copied to where it is written.
Result<CallOverMemory> call_over(std::string_view body, std::byte* shared, std::int64_t bytes);

}  // namespace tokitai::server

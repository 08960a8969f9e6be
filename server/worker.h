// The worker's side: opens the device it is told to, then runs one call after the other over the shared memory.
#pragma once
#include "server/channel.h"

namespace tokitai::server {

// Returns the process's exit code when the caller closes the channel: 0, or 2 after a message that cannot be read.
int serve(Channel channel);

}  // namespace tokitai::server

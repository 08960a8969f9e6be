// What a machine makes of what its kernels answered.
#pragma once
#include <string_view>

#include "contract/kernel_table.h"

namespace tokitai {

Status no_kernel(const Call& call, std::string_view machine);

// The status of a call that a kernel answered.
Status status_of(const Call& call, const Answer& answer, Outcome& outcome);

}  // namespace tokitai

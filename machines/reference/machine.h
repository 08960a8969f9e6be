// The machine that defines the bits: plain scalar loops, one thread.
#pragma once
#include <memory>

#include "tokitai/device.h"

namespace tokitai::reference {

std::shared_ptr<Machine> make_machine();

}  // namespace tokitai::reference

// tokitai bench --workers: what a process boundary costs.
#pragma once
#include "cli/device_choice.h"

namespace tokitai::cli {

Status bench_workers(const DeviceChoice& device, double budget, bool json);

}  // namespace tokitai::cli

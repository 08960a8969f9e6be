// Speeds for reports: one problem of each operator, of modest size, beside the copy bandwidth of the same run.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "evidence/figures.h"
#include "tokitai/device.h"

namespace tokitai::bench {

// Seconds on a CPU. `say` is told what is being timed.
Result<std::vector<evidence::SpeedFigures>> speed_figures(const std::vector<std::string>& operators, Device& device,
                                                          const std::function<void(const std::string&)>& say);

}  // namespace tokitai::bench

// Facts as reports and bundles have them in JSON.
#pragma once
#include <nlohmann/json.hpp>

#include "reports/facts.h"
#include "tokitai/device.h"

namespace tokitai::evidence {

nlohmann::json to_json(const KernelFacts& kernel);
nlohmann::json to_json(const MachineFacts& machine);
nlohmann::json to_json(const BuildFacts& build);

}  // namespace tokitai::evidence

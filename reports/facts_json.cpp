#include "reports/facts_json.h"

namespace tokitai::evidence {

nlohmann::json to_json(const KernelFacts& k) {
  return {{"label", k.label},         {"target", k.target},   {"source_sha256", k.source_digest},
          {"toolchain", k.toolchain}, {"command", k.command}, {"artifact_sha256", k.artifact_digest},
          {"audit", k.audit}};
}

nlohmann::json to_json(const MachineFacts& m) {
  return {{"system", m.system}, {"processor", m.processor}, {"cores", m.cores}};
}

nlohmann::json to_json(const BuildFacts& b) {
  return {{"compiler", b.compiler}, {"flags", b.flags}, {"binary_sha256", b.binary_digest}};
}

}  // namespace tokitai::evidence

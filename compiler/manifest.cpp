#include "compiler/manifest.h"

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "compiler/sha256.h"

namespace tokitai::compiler {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

// Reads fields without exceptions; one that is absent or of another type leaves `good` false.
struct Fields {
  const Json& json;
  bool good = true;

  const Json* find(const char* name) {
    const auto at = json.is_object() ? json.find(name) : json.end();
    if (json.is_object() && at != json.end()) return &*at;
    good = false;
    return nullptr;
  }
  void read(const char* name, std::string& out) {
    const Json* value = find(name);
    if (value != nullptr && value->is_string())
      out = value->get_ref<const std::string&>();
    else
      good = false;
  }
  void read(const char* name, bool& out) {
    const Json* value = find(name);
    if (value != nullptr && value->is_boolean())
      out = value->get<bool>();
    else
      good = false;
  }
  void read(const char* name, double& out) {
    const Json* value = find(name);
    if (value != nullptr && value->is_number())
      out = value->get<double>();
    else
      good = false;
  }
  // From 0 on. Any other number would be turned into this type, whether it fits or not.
  template <std::integral T> void read(const char* name, T& out) {
    const Json* value = find(name);
    if (value != nullptr && value->is_number_unsigned() && std::in_range<T>(value->get<std::uint64_t>()))
      out = value->get<T>();
    else
      good = false;
  }
};

}  // namespace

std::string manifest_text(const Artifact& artifact) {
  const Manifest& m = artifact.manifest;
  Json kernels = Json::array();
  for (const Resources& r : artifact.resources)
    kernels.push_back({{"kernel", r.kernel},
                       {"registers", r.registers},
                       {"spill_bytes", r.spill_bytes},
                       {"local_bytes", r.local_bytes},
                       {"shared_bytes", r.shared_bytes}});
  Json json = {{"key", m.key},
               {"label", m.label},
               {"target", m.target},
               {"source_digest", m.source_digest},
               {"toolchain", m.toolchain},
               {"command", m.command},
               {"binary_digest", m.binary_digest},
               {"text_digest", m.text_digest},
               {"integer_atomics", m.integer_atomics},
               {"build_seconds", m.build_seconds},
               {"unix_time", m.unix_time},
               {"kernels", kernels}};
  json["manifest_digest"] = sha256(dumped(json));
  return dumped(json) + "\n";
}

Status read_manifest(std::string_view text, Artifact& artifact) {
  // Deeper than ours ever is: left out, so that no damage makes writing it out for the digest run out of stack.
  constexpr int kDeepest = 4;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; };
  Json json = Json::parse(text, shallow, false);
  std::string digest;
  Fields whole{json};
  whole.read("manifest_digest", digest);
  if (!whole.good) return {Code::check_failed, "its manifest cannot be read"};
  json.erase("manifest_digest");
  if (sha256(dumped(json)) != digest) return {Code::check_failed, "its manifest was changed"};

  Manifest& m = artifact.manifest;
  Fields fields{json};
  fields.read("key", m.key);
  fields.read("label", m.label);
  fields.read("target", m.target);
  fields.read("source_digest", m.source_digest);
  fields.read("toolchain", m.toolchain);
  fields.read("command", m.command);
  fields.read("binary_digest", m.binary_digest);
  fields.read("text_digest", m.text_digest);
  fields.read("integer_atomics", m.integer_atomics);
  fields.read("build_seconds", m.build_seconds);
  fields.read("unix_time", m.unix_time);
  const Json* kernels = fields.find("kernels");
  if (kernels != nullptr)
    for (const Json& kernel : *kernels) {
      Resources r;
      Fields one{kernel};
      one.read("kernel", r.kernel);
      one.read("registers", r.registers);
      one.read("spill_bytes", r.spill_bytes);
      one.read("local_bytes", r.local_bytes);
      one.read("shared_bytes", r.shared_bytes);
      fields.good = fields.good && one.good;
      artifact.resources.push_back(std::move(r));
    }
  if (!fields.good) return {Code::check_failed, "its manifest lacks a field"};
  return {};
}

}  // namespace tokitai::compiler

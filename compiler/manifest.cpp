// A line per field, NAME=VALUE, always in the same order; a kernel's figures follow those of the kernel before. The
// last line is the digest of all lines above, so that whatever was changed, bit by bit, is refused before it is read.
#include "compiler/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>

#include "base/sha256.h"

namespace tokitai::compiler {
namespace {

constexpr std::string_view kDigest = "manifest_digest=";

// The fields in their order: for writing them and for reading them.
template <class M, class F> void for_each_field(M& m, F f) {
  f("key", m.key);
  f("label", m.label);
  f("target", m.target);
  f("source_digest", m.source_digest);
  f("toolchain", m.toolchain);
  f("command", m.command);
  f("binary_digest", m.binary_digest);
  f("text_digest", m.text_digest);
  f("integer_atomics", m.integer_atomics);
  f("hopper_sums", m.hopper_sums);
  f("build_seconds", m.build_seconds);
  f("unix_time", m.unix_time);
}
template <class R, class F> void for_each_figure(R& r, F f) {
  f("kernel", r.kernel);
  f("registers", r.registers);
  f("spill_bytes", r.spill_bytes);
  f("local_bytes", r.local_bytes);
  f("shared_bytes", r.shared_bytes);
}

struct Lines {
  std::string text;

  void operator()(std::string_view name, const std::string& value) {
    text += fmt::format("{}=", name);
    for (const char c : value) {
      if (c == '\n')
        text += "\\n";
      else
        text += c == '\\' ? "\\\\" : std::string(1, c);
    }
    text += '\n';
  }
  template <class T> void operator()(std::string_view name, T value) { text += fmt::format("{}={}\n", name, value); }
};

// Reads lines in that order; one that is absent, or is not of its field's type, leaves `good` false.
struct Fields {
  std::string_view left;
  bool good = true;

  std::string_view next(std::string_view name) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.starts_with(name) && line.substr(name.size()).starts_with('=')) return line.substr(name.size() + 1);
    good = false;
    return {};
  }
  void operator()(std::string_view name, std::string& out) {
    const std::string_view value = next(name);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const bool escaped = value[i] == '\\' && i + 1 < value.size();
      if (escaped) ++i;
      out += escaped && value[i] == 'n' ? '\n' : value[i];
    }
  }
  void operator()(std::string_view name, bool& out) {
    const std::string_view value = next(name);
    out = value == "true";
    good = good && (out || value == "false");
  }
  // From 0 on.
  template <class T> void operator()(std::string_view name, T& out) {
    const std::string_view value = next(name);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    good = good && error == std::errc() && end == value.data() + value.size() && out >= T{};
  }
};

}  // namespace

std::string manifest_text(const Artifact& artifact) {
  Lines lines;
  for_each_field(artifact.manifest, std::ref(lines));
  for (const Resources& r : artifact.resources) for_each_figure(r, std::ref(lines));
  return lines.text + fmt::format("{}{}\n", kDigest, base::sha256(lines.text));
}

Status read_manifest(std::string_view text, Artifact& artifact) {
  const std::size_t last = text.rfind(kDigest);
  if (last == std::string_view::npos) return {Code::check_failed, "its manifest cannot be read"};
  const std::string_view lines = text.substr(0, last);
  if (text.substr(last + kDigest.size()) != base::sha256(lines) + "\n")
    return {Code::check_failed, "its manifest was changed"};

  Fields fields{lines};
  for_each_field(artifact.manifest, std::ref(fields));
  while (fields.good && !fields.left.empty()) for_each_figure(artifact.resources.emplace_back(), std::ref(fields));
  if (!fields.good) return {Code::check_failed, "its manifest lacks a field"};
  return {};
}

}  // namespace tokitai::compiler

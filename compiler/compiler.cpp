#include "compiler/compiler.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "base/sha256.h"
#include "compiler/build.h"
#include "compiler/bundle.h"

namespace tokitai::compiler {

Result<Toolchain> toolchain(Vendor vendor) {
  switch (vendor) {
    case Vendor::nvidia: return find_nvrtc();
    case Vendor::amd: return find_clang();
    case Vendor::host: return find_host();
  }
  return Status(Code::internal, "no such vendor");
}

namespace {
std::string command_of(const Source& source, const Target& target) {
  if (target.vendor == Vendor::host) return host_command(source, target);
  return target.vendor == Vendor::nvidia ? nvrtc_command(source, target) : clang_command(source, target);
}
Result<Built> build_with(const Prepared& prepared) {
  if (prepared.target.vendor == Vendor::host) return build_with_host(prepared);
  return prepared.target.vendor == Vendor::nvidia ? build_with_nvrtc(prepared) : build_with_clang(prepared);
}
}  // namespace

Result<Prepared> prepare(const Source& source, const Target& target) {
  Prepared out;
  out.source = &source;
  out.target = target;
  out.headers = reachable(source.text, source.headers);
  if (Status status = check_source(source, out.headers); !status.ok()) return status;
  const auto found = toolchain(target.vendor);
  if (!found.ok()) return found.status();
  out.toolchain = found->identity;
  out.command = command_of(source, target);
  out.source_digest = digest_of(source.text, out.headers);
  base::PartsDigest key;
  key.add("tokitai artifact 1").add(out.source_digest).add(target.name).add(out.toolchain).add(out.command);
  for (const std::string& option : source.options) key.add(option);
  out.key = key.hex();
  return out;
}

Result<Artifact> build(const Prepared& prepared) {
  const auto start = std::chrono::steady_clock::now();
  auto built = build_with(prepared);
  if (!built.ok()) return built.status();
  Artifact out;
  out.binary = std::move(built->binary);
  out.text = std::move(built->text);
  out.resources = std::move(built->resources);
  out.manifest = {.key = prepared.key,
                  .label = prepared.source->label,
                  .target = std::string(prepared.target.name),
                  .source_digest = prepared.source_digest,
                  .toolchain = prepared.toolchain,
                  .command = prepared.command,
                  .binary_digest = base::sha256(out.binary),
                  .text_digest = base::sha256(out.text),
                  .integer_atomics = prepared.source->text.find(kIntegerAtomicsMarker) != std::string::npos,
                  .hopper_sums = prepared.source->text.find(kHopperSumsMarker) != std::string::npos,
                  .build_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                  .unix_time = std::time(nullptr)};
  return out;
}

Result<Artifact> compile(const Source& source, const Target& target) {
  const auto prepared = prepare(source, target);
  if (!prepared.ok()) return prepared.status();
  return build(prepared.value());
}

std::string beginning_of(std::string_view log) {
  constexpr int kLines = 30;
  std::size_t end = 0;
  for (int line = 0; line < kLines && end != std::string_view::npos; ++line) {
    end = log.find('\n', end);
    if (end != std::string_view::npos) ++end;
  }
  if (end == std::string_view::npos || end == log.size()) return std::string(log);
  return fmt::format("{}...", log.substr(0, end));
}

}  // namespace tokitai::compiler

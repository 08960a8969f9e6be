// Compiling as a pure function: source bundle, options, target and compiler give one artifact, bit for bit. It needs
// no device, so a machine without a GPU compiles for every target. NVIDIA: NVRTC, opened at run time. AMD: clang.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/target.h"
#include "tokitai/status.h"

namespace tokitai::compiler {

struct Header {
  std::string_view name, text;  // the name as #include has it: "machines/device/row.h", "cstdint"
};

// Headers that the text cannot reach through #include do not take part: neither in compiling nor in any digest.
struct Source {
  std::string label;  // for people: "layernorm.forward f16 cols=4096"
  std::string text;
  std::span<const Header> headers;
  std::vector<std::string> options;  // "-DX=1"; a short list of others (docs/compiler.md)
};

// In the text of a kernel that may use integer atomics (compiler/audit.h).
inline constexpr std::string_view kIntegerAtomicsMarker = "// audit: integer atomics";
// In the text of a kernel whose arithmetic is that of Hopper's tensor cores.
inline constexpr std::string_view kHopperSumsMarker = "// audit: hopper's sums";

struct Toolchain {
  std::string identity;  // name, version and digest: what decides the bits it makes
  std::string path;      // the library or the program
};

// Found once per process; unavailable says what was looked for and how to get it.
Result<Toolchain> toolchain(Vendor vendor);

struct Resources {
  std::string kernel;
  int registers = 0;     // per thread
  int spill_bytes = 0;   // NVIDIA: spill stores and loads; AMD: four for each vector register spilled
  int local_bytes = 0;   // stack or private memory per thread
  int shared_bytes = 0;  // per block, as far as the compiler knows
};

// Where an artifact comes from.
struct Manifest {
  std::string key;    // digest of every input; the cache's name for it
  std::string label;  // of whoever asked first
  std::string target;
  std::string source_digest;  // of the text and the headers it reaches
  std::string toolchain;      // Toolchain::identity
  std::string command;        // how it was built
  std::string binary_digest, text_digest;
  bool integer_atomics = false;  // the source has kIntegerAtomicsMarker
  bool hopper_sums = false;      // kHopperSumsMarker
  double build_seconds = 0;
  std::int64_t unix_time = 0;
};

struct Artifact {
  std::string binary;  // cubin, or AMD code object
  std::string text;    // PTX, or AMD assembly: what the binary was assembled from
  std::vector<Resources> resources;
  Manifest manifest;
  bool from_cache = false;
  std::string note;  // why it was not stored, where a cache was asked and could not
};

// No cache. A source that does not compile is `internal`, with the beginning of the compiler's log.
Result<Artifact> compile(const Source& source, const Target& target);

}  // namespace tokitai::compiler

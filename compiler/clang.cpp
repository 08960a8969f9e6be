// AMD kernels: a stock clang as a subprocess. The text is compiled to assembly once, and the code object is
// assembled from that, so that what is audited is what runs. It runs inside a folder of its own with relative names
// and a bare environment: no path and no setting of the caller's reaches the result.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/files.h"
#include "base/lines.h"
#include "base/program.h"
#include "base/sha256.h"
#include "compiler/build.h"
#include "compiler/cache.h"

namespace tokitai::compiler {
namespace {

namespace fs = std::filesystem;

constexpr int kOldest = 17, kNewest = 30;
constexpr const char* kMainFile = "kernel.hip";
constexpr const char* kAssembly = "kernel.s";
constexpr const char* kCodeObject = "kernel.co";
constexpr const char* kHowToGet =
    "clang 17 or later and its lld are needed (Debian, Ubuntu: clang-19 and lld-19); TOKITAI_CLANG may name the "
    "program";

int major_version(std::string_view text) {
  constexpr std::string_view kBefore = "clang version ";
  const std::size_t at = text.find(kBefore);
  int out = 0;
  if (at != std::string_view::npos) std::from_chars(text.data() + at + kBefore.size(), text.data() + text.size(), out);
  return out;
}

// Most of a compiler is in its libraries: those of LLVM that the loader gives the program.
std::vector<fs::path> files_of(const fs::path& program) {
  std::vector<fs::path> out{program};
  const auto traced = output_of({program.string()}, "LD_TRACE_LOADED_OBJECTS=1");
  if (!traced.ok()) return out;
  base::for_each_line(traced.value(), [&](std::string_view line) {
    const std::size_t from = line.find("=> "), to = line.find(" (");
    if (from == std::string_view::npos || to == std::string_view::npos || to < from) return;
    const fs::path path(line.substr(from + 3, to - from - 3));
    const std::string name = path.filename().string();
    if (name.find("LLVM") != std::string::npos || name.find("clang") != std::string::npos ||
        name.find("lld") != std::string::npos)
      out.push_back(path);
  });
  return out;
}

Result<Toolchain> examine(const fs::path& program) {
  const auto version = output_of({program.string(), "--version"});
  if (!version.ok()) return version.status();
  const std::string first(version.value().substr(0, version.value().find('\n')));
  if (major_version(first) < kOldest)
    return Status(Code::unavailable, fmt::format("{} is '{}'. {}", program.string(), first, kHowToGet));
  const auto linker = output_of({program.string(), "--target=amdgcn-amd-amdhsa", "-print-prog-name=ld.lld"});
  if (!linker.ok()) return linker.status();
  const fs::path lld(base::trimmed(linker.value()));
  if (!lld.is_absolute())
    return Status(Code::unavailable, fmt::format("{} finds no linker ld.lld. {}", program.string(), kHowToGet));
  base::PartsDigest digest;
  for (const fs::path& part : {program, lld})
    for (const fs::path& file : files_of(part)) {
      std::error_code error;
      const fs::path real = fs::canonical(file, error);
      const auto one = base::sha256_of_file(error ? file : real, digest_memory());
      if (!one.ok()) return one.status();
      digest.add(one.value());
    }
  return Toolchain{fmt::format("{}, sha256 {}", first, digest.hex()), program.string()};
}

Result<Toolchain> look_for(const std::string& named) {
  if (!named.empty()) {
    const fs::path program = base::find_program(named);
    if (!program.empty()) return examine(program);
    return Status(
        Code::unavailable,
        fmt::format("no compiler for AMD targets: TOKITAI_CLANG names {}, which is no program. {}", named, kHowToGet));
  }
  std::vector<std::string> names;
  for (int version = kNewest; version >= kOldest; --version) names.push_back(fmt::format("clang++-{}", version));
  names.emplace_back("clang++");
  for (const std::string& name : names) {
    const fs::path program = base::find_program(name);
    if (!program.empty()) return examine(program);
  }
  return Status(Code::unavailable,
                fmt::format("no compiler for AMD targets: neither clang++ nor clang++-{} to clang++-{} is in PATH. {}",
                            kOldest, kNewest, kHowToGet));
}

std::vector<std::string> compile_options(const Source& source, const Target& target) {
  std::vector<std::string> out{"-x",
                               "hip",
                               fmt::format("--offload-arch={}", target.name),
                               "--cuda-device-only",
                               "--no-gpu-bundle-output",
                               "--no-default-config",
                               "-fuse-cuid=none",  // it would be a digest of the folder's path
                               "-nogpuinc",
                               "-nogpulib",
                               "-nostdinc",
                               "-nostdinc++",
                               "-O3",
                               "-ffp-contract=off",
                               "-std=c++20",
                               "-I",
                               "."};
  out.insert(out.end(), source.options.begin(), source.options.end());
  for (const char* option : {"-S", kMainFile, "-o", kAssembly}) out.emplace_back(option);
  return out;
}

std::vector<std::string> assemble_options(const Target& target) {
  return {"--target=amdgcn-amd-amdhsa",
          fmt::format("-mcpu={}", target.name),
          "--no-default-config",
          kAssembly,
          "-o",
          kCodeObject};
}

Status run_step(const Prepared& prepared, const std::string& program, const fs::path& folder,
                std::vector<std::string> options) {
  options.insert(options.begin(), program);
  const auto ended =
      base::run({.command = std::move(options), .folder = folder, .environment = bare_environment(folder)});
  if (!ended.ok()) return ended.status();
  if (ended->exit_code == 0) return {};
  for (const char* unknown : {"unsupported HIP gpu architecture", "unsupported CUDA gpu architecture",
                              "invalid target ID", "unknown target CPU"})
    if (ended->output.find(unknown) != std::string::npos)
      return {Code::unavailable, fmt::format("{} does not know the target {}", program, prepared.target.name)};
  return {Code::internal, fmt::format("{} for {}: does not compile\n{}", prepared.source->label, prepared.target.name,
                                      beginning_of(ended->output))};
}

}  // namespace

Result<Toolchain> find_clang() {
  static FoundBy<Toolchain> found("TOKITAI_CLANG", look_for);
  return found.get();
}

std::string clang_command(const Source& source, const Target& target) {
  return fmt::format("clang++ {} && clang++ {}", fmt::join(compile_options(source, target), " "),
                     fmt::join(assemble_options(target), " "));
}

Result<Built> build_with_clang(const Prepared& prepared) {
  const auto clang = find_clang();
  if (!clang.ok()) return clang.status();
  const auto folder = base::TemporaryFolder::make();
  if (!folder.ok()) return folder.status();
  const fs::path& path = folder->path();
  if (Status status = write_bundle(path, prepared, kMainFile); !status.ok()) return status;
  Status status = run_step(prepared, clang->path, path, compile_options(*prepared.source, prepared.target));
  if (status.ok()) status = run_step(prepared, clang->path, path, assemble_options(prepared.target));
  if (!status.ok()) return status;
  auto binary = base::read_file(path / kCodeObject);
  auto text = base::read_file(path / kAssembly);
  if (!binary.ok()) return binary.status();
  if (!text.ok()) return text.status();
  std::vector<Resources> resources = resources_in_amd_assembly(text.value());
  return Built{std::move(binary).value(), std::move(text).value(), std::move(resources)};
}

}  // namespace tokitai::compiler

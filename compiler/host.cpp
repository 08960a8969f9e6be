// Libraries for this machine, by its own C++ compiler: the device text for the lockstep machine, and operators that are
// loaded from a folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/program.h"
#include "base/sha256.h"
#include "compiler/build.h"
#include "compiler/cache.h"

namespace tokitai::compiler {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMainFile = "kernel.cpp";
constexpr const char* kLibrary = "kernel.so";
constexpr const char* kHowToGet = "a C++20 compiler is needed (Debian, Ubuntu: g++); TOKITAI_CXX may name the program";

Result<Toolchain> examine(const fs::path& program) {
  const auto version = output_of({program.string(), "--version"});
  if (!version.ok()) return version.status();
  std::error_code error;
  const fs::path real = fs::canonical(program, error);
  const auto digest = base::sha256_of_file(error ? program : real, digest_memory());
  if (!digest.ok()) return digest.status();
  return Toolchain{fmt::format("{}, sha256 {}", version->substr(0, version->find('\n')), digest.value()),
                   program.string()};
}

Result<Toolchain> look_for(const std::string& named) {
  for (const std::string& name : named.empty() ? std::vector<std::string>{"c++", "g++", "clang++", "clang++-19"}
                                               : std::vector<std::string>{named}) {
    const fs::path program = base::find_program(name);
    if (!program.empty()) return examine(program);
  }
  return Status(Code::unavailable,
                named.empty() ? fmt::format("no C++ compiler in PATH: {}", kHowToGet)
                              : fmt::format("TOKITAI_CXX names {}, which is no program: {}", named, kHowToGet));
}

// Kernels of the device text (the target "host") are compiled to be checked as they run, operators to be fast.
std::vector<std::string> options_of(const Source& source, const Target& target) {
  std::vector<std::string> out{"-std=c++20",      "-fPIC", "-shared", "-ffp-contract=off",
                               "-fno-math-errno", "-w",    "-I",      "."};
  const std::vector<std::string> own = target.name == "host"
                                           ? std::vector<std::string>{"-O1", "-DTK_LOCKSTEP", "-DTK_LOCKSTEP_LIBRARY"}
                                           : std::vector<std::string>{"-fmax-errors=1", "-fvisibility=hidden"};
  out.insert(out.end(), own.begin(), own.end());
  out.insert(out.end(), source.options.begin(), source.options.end());
  for (const char* option : {kMainFile, "-o", kLibrary}) out.emplace_back(option);
  return out;
}

// Runs the compiler on the main file in `folder`; what it said where it failed.
Result<std::string> complaint(const std::string& compiler, const Prepared& prepared, const fs::path& folder) {
  std::vector<std::string> command = options_of(*prepared.source, prepared.target);
  command.insert(command.begin(), compiler);
  const auto ended =
      base::run({.command = std::move(command), .folder = folder, .environment = bare_environment(folder)});
  if (!ended.ok()) return ended.status();
  return ended->exit_code == 0 ? std::string() : fmt::format("\n{}", beginning_of(ended->output));
}

// A compiler that refuses even this is none, or lacks its library: what is wrong is not our text.
Status refused(const std::string& compiler, const Prepared& prepared, const std::string& what) {
  const auto folder = base::TemporaryFolder::make();
  if (!folder.ok()) return folder.status();
  if (Status s = base::write_file(folder->path() / kMainFile, "#include <cstdint>\n"); !s.ok()) return s;
  const auto trivial = complaint(compiler, prepared, folder->path());
  if (!trivial.ok()) return trivial.status();
  if (!trivial->empty())
    return {Code::unavailable,
            fmt::format("{} does not compile an empty program: {}{}", compiler, kHowToGet, trivial.value())};
  return {Code::internal, fmt::format("{}: does not compile{}", prepared.source->label, what)};
}

}  // namespace

Result<Toolchain> find_host() {
  static FoundBy<Toolchain> found("TOKITAI_CXX", look_for);
  return found.get();
}

std::string host_command(const Source& source, const Target& target) {
  return fmt::format("c++ {}", fmt::join(options_of(source, target), " "));
}

Result<Built> build_with_host(const Prepared& prepared) {
  const auto compiler = find_host();
  if (!compiler.ok()) return compiler.status();
  const auto folder = base::TemporaryFolder::make();
  if (!folder.ok()) return folder.status();
  if (Status status = write_bundle(folder->path(), prepared, kMainFile); !status.ok()) return status;
  const auto what = complaint(compiler->path, prepared, folder->path());
  if (!what.ok()) return what.status();
  if (!what->empty()) return refused(compiler->path, prepared, what.value());
  auto library = base::read_file(folder->path() / kLibrary);
  if (!library.ok()) return library.status();
  return Built{std::move(library).value(), "", {}};
}

}  // namespace tokitai::compiler

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "base/library.h"
#include "proofs/prover.h"

namespace tokitai::proofs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libtokitai_prover.so";

std::vector<std::string> candidates() {
  if (const char* named = std::getenv("TOKITAI_PROVER"); named != nullptr && *named != '\0') return {named};
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {kName};
  const fs::path folder = program.parent_path();
  return {(folder / kName).string(), (folder.parent_path() / "lib" / "tokitai" / kName).string()};
}

Result<const Prover*> load() {
  std::string why;
  for (const std::string& path : candidates()) {
    std::string reason;
    void* library = base::open_library(path, reason);
    if (library == nullptr) {
      why += fmt::format("{}{}", why.empty() ? "" : "; ", reason);
      continue;
    }
    const auto entry = reinterpret_cast<decltype(&tokitai_prover)>(::dlsym(library, "tokitai_prover"));
    if (entry == nullptr) return Status(Code::unavailable, fmt::format("{} is not a prover of tokitai", path));
    return entry();
  }
  return Status(Code::unavailable,
                fmt::format("no solver: {}. The prover is built where CMake finds Z3 (Debian, Ubuntu: libz3-dev) and "
                            "needs its library to run",
                            why));
}

}  // namespace

Result<const Prover*> load_prover() {
  static const Result<const Prover*> loaded = load();
  return loaded;
}

}  // namespace tokitai::proofs

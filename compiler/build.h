// Inside: the steps of compiling, which the cache takes one by one, and what each vendor's compiler provides.
#pragma once
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/program.h"
#include "compiler/compiler.h"

namespace tokitai::compiler {

// Everything that decides the bits of an artifact, and its digest.
struct Prepared {
  const Source* source = nullptr;
  Target target;
  std::vector<Header> headers;  // those that take part
  std::string source_digest, toolchain, command, key;
};
Result<Prepared> prepare(const Source& source, const Target& target);
Result<Artifact> build(const Prepared& prepared);

struct Built {
  std::string binary, text;
  std::vector<Resources> resources;
};
// The first lines of a compiler's log, for a message.
std::string beginning_of(std::string_view log);

// What is found for each value of an environment variable; looked for once per process and value.
template <class T> class FoundBy {
 public:
  FoundBy(const char* variable, Result<T> (*look)(const std::string& named)) : variable_(variable), look_(look) {}
  const Result<T>& get() {
    const std::scoped_lock lock(mutex_);
    const std::string named = base::environment(variable_);
    const auto at = found_.find(named);
    return at != found_.end() ? at->second : found_.emplace(named, look_(named)).first->second;
  }

 private:
  const char* variable_;
  Result<T> (*look_)(const std::string& named);
  std::mutex mutex_;
  std::map<std::string, Result<T>> found_;
};

Result<Toolchain> find_nvrtc();
std::string nvrtc_command(const Source& source, const Target& target);
Result<Built> build_with_nvrtc(const Prepared& prepared);
// From what the assembler says of each kernel (--ptxas-options=-v).
std::vector<Resources> resources_in_ptxas_log(std::string_view log);
// What the assembler warns of where tensor cores would wait for each other or registers were not given: a refusal.
std::string_view tensor_core_warning(std::string_view log);

Result<Toolchain> find_clang();
std::string clang_command(const Source& source, const Target& target);
Result<Built> build_with_clang(const Prepared& prepared);
// From the metadata at the end of the assembly.
std::vector<Resources> resources_in_amd_assembly(std::string_view assembly);

Result<Toolchain> find_host();
std::string host_command(const Source& source, const Target& target);
Result<Built> build_with_host(const Prepared& prepared);

// What the compilers that are programs share: a bare environment, a bundle written to a folder.
std::vector<std::string> bare_environment(const std::filesystem::path& folder);
Result<std::string> output_of(std::vector<std::string> command, const std::string& variable = "");
Status write_bundle(const std::filesystem::path& folder, const Prepared& prepared, const char* main_file);

}  // namespace tokitai::compiler

// NVIDIA's run-time compiler, opened when it is first needed. Its few functions are declared here, so that building
// needs no CUDA headers.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/library.h"
#include "base/lines.h"
#include "base/program.h"
#include "base/sha256.h"
#include "compiler/build.h"
#include "compiler/cache.h"

namespace tokitai::compiler {
namespace {

namespace fs = std::filesystem;

// A path that cannot have neighbours: NVRTC also searches the main file's folder, and the bundle is all there is.
constexpr std::string_view kNowhere = "/dev/null/";
constexpr std::string_view kMainFile = "kernel.cu";
constexpr int kCompileError = 6, kBuiltinsMissing = 7;

using Program = void*;
struct Nvrtc {
  int (*version)(int*, int*) = nullptr;
  int (*arch_count)(int*) = nullptr;
  int (*archs)(int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*ptx_size)(Program, std::size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  const char* (*error)(int) = nullptr;
  Toolchain toolchain;
  std::vector<int> known;  // compute capabilities
  bool caches = false;     // it keeps what it made, and can be told not to
};

constexpr const char* kHowToGet =
    "NVRTC comes with the CUDA toolkit 12 or later (Debian, Ubuntu: NVIDIA's package cuda-nvrtc-13-0); "
    "TOKITAI_NVRTC may name the library";

template <class F> bool look_up(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

bool look_up_all(void* library, Nvrtc& n) {
  return look_up(library, "nvrtcVersion", n.version) && look_up(library, "nvrtcGetNumSupportedArchs", n.arch_count) &&
         look_up(library, "nvrtcGetSupportedArchs", n.archs) && look_up(library, "nvrtcCreateProgram", n.create) &&
         look_up(library, "nvrtcCompileProgram", n.compile) && look_up(library, "nvrtcDestroyProgram", n.destroy) &&
         look_up(library, "nvrtcGetProgramLogSize", n.log_size) && look_up(library, "nvrtcGetProgramLog", n.log) &&
         look_up(library, "nvrtcGetPTXSize", n.ptx_size) && look_up(library, "nvrtcGetPTX", n.ptx) &&
         look_up(library, "nvrtcGetCUBINSize", n.cubin_size) && look_up(library, "nvrtcGetCUBIN", n.cubin) &&
         look_up(library, "nvrtcGetErrorString", n.error);
}

std::vector<std::string> candidates(const std::string& named) {
  if (!named.empty()) return {named};
  std::vector<std::string> folders{""}, out;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = base::environment(variable); !home.empty()) folders.push_back(home + "/lib64/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  for (const std::string& folder : folders)
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) out.push_back(folder + name);
  return out;
}

// The library's digest and that of the built-in functions that lie beside it and are linked into what it makes.
Result<std::string> identity_of(const fs::path& library, int major, int minor) {
  const fs::path memory = digest_memory();
  const auto digest = base::sha256_of_file(library, memory);
  if (!digest.ok()) return digest.status();
  std::string out =
      fmt::format("NVRTC {}.{}, {}, sha256 {}", major, minor, library.filename().string(), digest.value());
  const fs::path builtins = library.parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
  std::error_code error;
  if (fs::exists(builtins, error)) {
    const auto other = base::sha256_of_file(builtins, memory);
    if (!other.ok()) return other.status();
    out += fmt::format(", built-ins sha256 {}", other.value());
  }
  return out;
}

// Where there is a driver, newer versions keep what they made, and then say nothing of registers and memory.
constexpr const char* kNoCache = "--no-cache";

bool takes(const Nvrtc& nvrtc, const char* option) {
  Program program = nullptr;
  if (nvrtc.create(&program, "", "empty.cu", 0, nullptr, nullptr) != 0) return false;
  const int error = nvrtc.compile(program, 1, &option);
  nvrtc.destroy(&program);
  return error == 0;
}

Result<Nvrtc> load(const std::string& named) {
  void* library = nullptr;
  std::string opened, why;
  const std::vector<std::string> names = candidates(named);
  for (const std::string& name : names) {
    opened = name;
    library = base::open_library(name, why);
    if (library != nullptr) break;
  }
  if (library == nullptr && !named.empty())
    return Status(Code::unavailable,
                  fmt::format("no compiler for NVIDIA targets: TOKITAI_NVRTC names {}, which could not be opened. {}",
                              named, kHowToGet));
  if (library == nullptr)
    return Status(Code::unavailable, fmt::format("no compiler for NVIDIA targets: none of {} could be opened. {}",
                                                 fmt::join(names, ", "), kHowToGet));
  Nvrtc out;
  Dl_info about{};
  if (!look_up_all(library, out) || ::dladdr(reinterpret_cast<void*>(out.version), &about) == 0)
    return Status(Code::unavailable, fmt::format("{} lacks functions of NVRTC. {}", opened, kHowToGet));
  std::error_code error;
  const fs::path path = fs::canonical(about.dli_fname, error);
  if (error) return Status(Code::unavailable, fmt::format("cannot find the file of {}", about.dli_fname));
  int major = 0, minor = 0, count = 0;
  if (out.version(&major, &minor) != 0 || major < 12)
    return Status(Code::unavailable,
                  fmt::format("{} is NVRTC {}.{}, too old for C++20. {}", path.string(), major, minor, kHowToGet));
  if (out.arch_count(&count) == 0 && count > 0) {
    out.known.resize(static_cast<std::size_t>(count));
    if (out.archs(out.known.data()) != 0) out.known.clear();
  }
  out.caches = takes(out, kNoCache);
  auto identity = identity_of(path, major, minor);
  if (!identity.ok()) return identity.status();
  out.toolchain = {std::move(identity).value(), path.string()};
  return out;
}

const Result<Nvrtc>& nvrtc() {
  static FoundBy<Nvrtc> found("TOKITAI_NVRTC", load);
  return found.get();
}

std::vector<std::string> options_of(const Source& source, const Target& target) {
  std::vector<std::string> out{fmt::format("--gpu-architecture={}", target.name),
                               "--std=c++20",
                               "--fmad=false",
                               "--ftz=false",
                               "--prec-div=true",
                               "--prec-sqrt=true",
                               "-default-device",
                               "--ptxas-options=-v"};
  if (nvrtc().ok() && nvrtc()->caches) out.emplace_back(kNoCache);
  out.insert(out.end(), source.options.begin(), source.options.end());
  return out;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& text : texts) out.push_back(text.c_str());
  return out;
}

// A program of NVRTC, destroyed at the end.
struct Owned {
  const Nvrtc& nvrtc;
  Program program = nullptr;
  ~Owned() {
    if (program != nullptr) nvrtc.destroy(&program);
  }
};

using Size = int (*)(Program, std::size_t*);
using Get = int (*)(Program, char*);
std::string fetch(Program program, Size size_of, Get get) {
  std::size_t size = 0;
  if (size_of(program, &size) != 0 || size == 0) return {};
  std::string out(size, '\0');
  return get(program, out.data()) == 0 ? out : std::string();
}
// The same for text, which comes with a zero at the end.
std::string fetch_text(Program program, Size size_of, Get get) {
  std::string out = fetch(program, size_of, get);
  while (!out.empty() && out.back() == '\0') out.pop_back();
  return out;
}

std::string log_of(const Nvrtc& nvrtc, Program program) {
  if (program == nullptr) return {};
  std::string out = fetch_text(program, nvrtc.log_size, nvrtc.log);
  for (std::size_t at = 0; (at = out.find(kNowhere, at)) != std::string::npos;) out.erase(at, kNowhere.size());
  return out;
}

Status known_to(const Nvrtc& nvrtc, const Target& target) {
  int number = 0;
  std::from_chars(target.name.data() + 3, target.name.data() + target.name.size(), number);
  for (const int known : nvrtc.known)
    if (known == number) return {};
  return {Code::unavailable, fmt::format("{} does not know the target {}", nvrtc.toolchain.path, target.name)};
}

}  // namespace

Result<Toolchain> find_nvrtc() {
  const Result<Nvrtc>& found = nvrtc();
  if (!found.ok()) return found.status();
  return found->toolchain;
}

std::string nvrtc_command(const Source& source, const Target& target) {
  return fmt::format("nvrtc {} {}", fmt::join(options_of(source, target), " "), kMainFile);
}

Result<Built> build_with_nvrtc(const Prepared& prepared) {
  const Result<Nvrtc>& found = nvrtc();
  if (!found.ok()) return found.status();
  const Nvrtc& n = found.value();
  if (Status status = known_to(n, prepared.target); !status.ok()) return status;

  std::vector<std::string> names, texts;  // views need not end in a zero
  for (const Header& header : prepared.headers) {
    names.emplace_back(header.name);
    texts.emplace_back(header.text);
  }
  const std::vector<std::string> options = options_of(*prepared.source, prepared.target);
  const auto name_list = pointers(names), text_list = pointers(texts), option_list = pointers(options);
  const std::string main_file = fmt::format("{}{}", kNowhere, kMainFile);

  Owned owned{n};
  int error = n.create(&owned.program, prepared.source->text.c_str(), main_file.c_str(), static_cast<int>(names.size()),
                       text_list.data(), name_list.data());
  if (error == 0) error = n.compile(owned.program, static_cast<int>(options.size()), option_list.data());
  const std::string log = log_of(n, owned.program);
  if (error != 0) {
    const Code code = error == kBuiltinsMissing ? Code::unavailable : Code::internal;
    const std::string what = error == kCompileError ? "does not compile" : fmt::format("failed: {}", n.error(error));
    return Status(
        code, fmt::format("{} for {}: {}\n{}", prepared.source->label, prepared.target.name, what, beginning_of(log)));
  }
  if (const std::string_view warning = tensor_core_warning(log); !warning.empty())
    return Status(Code::internal,
                  fmt::format("{} for {}: {}", prepared.source->label, prepared.target.name, base::trimmed(warning)));
  Built out{fetch(owned.program, n.cubin_size, n.cubin), fetch_text(owned.program, n.ptx_size, n.ptx),
            resources_in_ptxas_log(log)};
  if (out.binary.empty() || out.text.empty())
    return Status(Code::internal,
                  fmt::format("{} for {}: NVRTC made no binary", prepared.source->label, prepared.target.name));
  return out;
}

}  // namespace tokitai::compiler

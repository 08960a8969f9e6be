#include "machines/lockstep/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/files.h"
#include "compiler/cache.h"
#include "machines/device/compile_ahead.h"
#include "machines/lockstep/words.h"

namespace tokitai::lockstep {
namespace {

constexpr compiler::Target kHost{"host", compiler::Vendor::host, 32, 0, false};

constexpr Words kWords{
#define TK_ENTRY(result, name, parameters, arguments) .name = &lockstep::name,
    TK_LOCKSTEP_WORDS(TK_ENTRY)
#undef TK_ENTRY
};

// From a folder that only its owner may enter and that is gone afterwards.
Result<void*> load(const std::string& binary) {
  auto folder = base::TemporaryFolder::make();
  if (!folder.ok()) return folder.status();
  const std::filesystem::path path = folder->path() / "kernel.so";
  if (Status s = base::write_file(path, binary); !s.ok()) return s;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Status(Code::unavailable, fmt::format("lockstep: a kernel's library does not load ({})", dlerror()));
  auto** words = static_cast<const Words**>(dlsym(library, "tokitai_lockstep_words"));
  if (words == nullptr) return Status(Code::internal, "lockstep: a kernel's library takes no table of words");
  if (*words != nullptr) return Status(Code::internal, "lockstep: a kernel's library has another one's table of words");
  *words = &kWords;
  return library;
}

}  // namespace

std::vector<compiler::Header> Library::headers() const {
  std::vector<compiler::Header> all;
  for (const device::Text& text : texts_()) all.push_back({text.name, text.text});
  return all;
}

Status Library::compile_ahead(const std::vector<Call>& calls, const device::Machinery& machinery,
                              const CompileProgress& progress) const {
  return device::compile_ahead(calls, machinery, headers(), kHost, progress);
}

Result<Kernel> Library::get(const device::Launch& launch, std::string_view label) {
  const auto known = loaded_.find(launch.source);
  if (known != loaded_.end()) return known->second;
  auto cache = compiler::Cache::open();
  if (!cache.ok()) return cache.status();
  const std::string name = fmt::format("{} {}", label, launch.kernel);
  const std::vector<compiler::Header> included = headers();
  auto artifact = cache->get({name, launch.source, included, {}}, kHost);
  if (!artifact.ok()) return artifact.status();
  auto library = load(artifact->binary);
  if (!library.ok()) return library.status();
  void* symbol = dlsym(library.value(), launch.kernel.c_str());
  if (symbol == nullptr)
    return Status(Code::internal, fmt::format("lockstep: the library of {} lacks it", launch.kernel));
  const auto kernel = reinterpret_cast<Kernel>(symbol);
  loaded_.emplace(launch.source, kernel);
  facts_.push_back(device::facts_of(artifact.value(), name, device::kCheckedAsItRan));
  return kernel;
}

}  // namespace tokitai::lockstep

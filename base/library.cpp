#include "base/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/files.h"

namespace tokitai::base {

void* open_library(const std::string& name, std::string& why) {
  if (name.find('/') != std::string::npos)
    if (const auto file = open_regular(name); !file.ok()) {
      why = fmt::format("{}: cannot open shared object file: {}", name, file.status().message());
      return nullptr;
    }
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    why = reason != nullptr ? reason : name;
  }
  return library;
}

}  // namespace tokitai::base

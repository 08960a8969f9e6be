#include "machines/gpu/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "base/library.h"

namespace tokitai::gpu {

Result<Library> Library::open(std::string_view what, const char* variable, const std::vector<const char*>& names) {
  const char* chosen = std::getenv(variable);
  const std::vector<const char*> tried = chosen != nullptr && *chosen != '\0' ? std::vector{chosen} : names;
  std::string why;
  for (const char* name : tried) {
    std::string reason;
    if (void* handle = base::open_library(name, reason)) return Library(handle, name);
    if (why.empty()) why = reason;
  }
  const std::string names_tried = fmt::format("{}", fmt::join(tried, ", "));
  return Status(Code::unavailable, fmt::format("no {}: {} ({}); {} names another file", what,
                                               tried.size() > 1 ? fmt::format("none of {} could be opened", names_tried)
                                                                : names_tried + " could not be opened",
                                               why, variable));
}

std::string Library::missing() const {
  return missing_count_ < 2 ? missing_ : fmt::format("{} and {} more", missing_, missing_count_ - 1);
}

void* Library::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace tokitai::gpu

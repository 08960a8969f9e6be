// A vendor's library opened at run time: the first of several names that is there, and its symbols.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tokitai/status.h"

namespace tokitai::gpu {

class Library {
 public:
  // `variable` names an environment variable that, where set, is the only name tried.
  static Result<Library> open(std::string_view what, const char* variable, const std::vector<const char*>& names);

  // The first symbol that is not there is remembered, and how many more: `missing` tells.
  template <class F> void require(F*& function, const char* symbol) {
    optional(function, symbol);
    if (function == nullptr && missing_count_++ == 0) missing_ = symbol;
  }
  template <class F> void optional(F*& function, const char* symbol) { function = reinterpret_cast<F*>(find(symbol)); }
  std::string missing() const;
  const std::string& name() const { return name_; }

 private:
  Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* find(const char* symbol) const;

  void* handle_;
  std::string name_, missing_;
  int missing_count_ = 0;
};

}  // namespace tokitai::gpu

// Inside: the audit of each vendor's text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compiler/audit.h"

namespace tokitai::compiler {

struct TextAudit {
  std::vector<std::string> kernels;  // the text defines them
  std::vector<Finding> findings;
};
TextAudit audit_ptx(std::string_view text, bool integer_atomics, bool hopper_sums);
TextAudit audit_amd(std::string_view text, bool integer_atomics);

// Whether this kernel may use integer atomics.
inline bool allows_atomics(std::string_view kernel, bool integer_atomics) {
  return integer_atomics || kernel.ends_with("_check");
}

}  // namespace tokitai::compiler

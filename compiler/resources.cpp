// The figures of each kernel, as the two assemblers print them.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/lines.h"
#include "compiler/build.h"

namespace tokitai::compiler {
namespace {

int number_at(std::string_view text) {
  int out = 0;
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// The number before `unit`: 12 of "..., 12 bytes smem".
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return 0;
  std::size_t from = at;
  while (from > 0 && line[from - 1] >= '0' && line[from - 1] <= '9') --from;
  return number_at(line.substr(from, at - from));
}

std::string_view unquoted(std::string_view text) {
  text = base::trimmed(text);
  if (text.size() >= 2 && text.front() == text.back() && (text.front() == '\'' || text.front() == '"'))
    return text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

std::vector<Resources> resources_in_ptxas_log(std::string_view log) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  std::vector<Resources> out;
  base::for_each_line(log, [&](std::string_view line) {
    if (const std::size_t at = line.find(kEntry); at != std::string_view::npos) {
      line.remove_prefix(at + kEntry.size());
      out.push_back({.kernel = std::string(line.substr(0, line.find('\'')))});
    } else if (out.empty()) {
      return;
    } else if (line.find(" bytes stack frame") != std::string_view::npos) {
      // A function that was not inlined is reported after the kernel that calls it, and counts as part of it.
      out.back().local_bytes = std::max(out.back().local_bytes, number_before(line, " bytes stack frame"));
      out.back().spill_bytes += number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    } else if (line.find(" registers") != std::string_view::npos) {
      out.back().registers = number_before(line, " registers");
      out.back().shared_bytes = number_before(line, " bytes smem");
      out.back().local_bytes = std::max(out.back().local_bytes, number_before(line, " bytes cumulative stack size"));
    }
  });
  return out;
}

std::string_view tensor_core_warning(std::string_view log) {
  std::string_view found;
  base::for_each_line(log, [&](std::string_view line) {
    // A kernel may be named after either: only lines that speak of a loss count.
    const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
    const bool warns = has("Potential Performance Loss") || has("warning") || has("ignored");
    if (found.empty() && warns && (has("wgmma") || has("setmaxnreg"))) found = line;
  });
  return found;
}

std::vector<Resources> resources_in_amd_assembly(std::string_view assembly) {
  std::vector<Resources> out;
  bool inside = false, kernels = false;
  base::for_each_line(assembly, [&](std::string_view line) {
    if (base::trimmed(line) == ".amdgpu_metadata") inside = true;
    if (base::trimmed(line) == ".end_amdgpu_metadata") inside = false;
    if (!inside) return;
    if (!line.starts_with(' ')) kernels = line.starts_with("amdhsa.kernels:");
    // "  - .key: value" begins a kernel, "    .key: value" goes on; what is deeper describes its arguments.
    if (!kernels || (!line.starts_with("  - .") && !line.starts_with("    ."))) return;
    if (line.starts_with("  - ")) out.emplace_back();
    if (out.empty()) return;
    line.remove_prefix(5);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = line.substr(0, colon), value = line.substr(colon + 1);
    Resources& kernel = out.back();
    if (key == "name") kernel.kernel = unquoted(value);
    if (key == "vgpr_count") kernel.registers = number_at(value);
    // Scalar registers spill to lanes of vector registers, not to memory.
    if (key == "vgpr_spill_count") kernel.spill_bytes += 4 * number_at(value);
    if (key == "private_segment_fixed_size") kernel.local_bytes = number_at(value);
    if (key == "group_segment_fixed_size") kernel.shared_bytes = number_at(value);
  });
  return out;
}

}  // namespace tokitai::compiler

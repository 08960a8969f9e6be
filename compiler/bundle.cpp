#include "compiler/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/sha256.h"

namespace tokitai::compiler {
namespace {

struct Includes {
  std::vector<std::string> names;
  bool computed = false;  // of a macro: any header may be meant
};

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size())); }

Includes includes_of(std::string_view text) {
  Includes out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    skip_blanks(line);
    if (!line.starts_with('#')) continue;
    line.remove_prefix(1);
    skip_blanks(line);
    if (!line.starts_with("include")) continue;
    line.remove_prefix(7);
    skip_blanks(line);
    const char close = line.starts_with('"') ? '"' : '>';
    const std::size_t last = line.find(close, 1);
    if ((line.starts_with('"') || line.starts_with('<')) && last != std::string_view::npos)
      out.names.emplace_back(line.substr(1, last - 1));
    else
      out.computed = true;
  }
  return out;
}

bool stays_inside(std::string_view name) {
  const std::filesystem::path path(name);
  if (name.empty() || path.is_absolute() || name.find('\0') != std::string_view::npos) return false;
  return std::none_of(path.begin(), path.end(), [](const auto& part) { return part == ".." || part == "."; });
}

// What a caller may add. Everything else could let files in, change how floats round in ways that no audit of the
// result can see (a product and a sum made one fma), or, as NVRTC's line numbers do, write the current folder into it.
bool is_allowed(std::string_view option) {
  for (const std::string_view prefix : {"-D", "-U", "--maxrregcount=", "-maxrregcount=", "--gpu-max-threads-per-block=",
                                        "-march=", "-mprefer-vector-width="})
    if (option.starts_with(prefix) && option.size() > prefix.size()) return true;
  for (const std::string_view whole : {"-mcumode", "-mno-cumode", "-maes", "-O1", "-O2", "-O3"})
    if (option == whole) return true;
  return false;
}

}  // namespace

std::vector<Header> reachable(std::string_view text, std::span<const Header> headers) {
  std::map<std::string, const Header*> by_name;
  for (const Header& header : headers) by_name.emplace(header.name, &header);
  std::set<std::string> reached;
  std::vector<std::pair<std::string, std::string_view>> waiting{{"", text}};
  const auto reach = [&](const std::string& name) {
    const auto found = by_name.find(name);
    if (found != by_name.end() && reached.insert(name).second) waiting.emplace_back(name, found->second->text);
  };
  while (!waiting.empty()) {
    const auto [includer, body] = waiting.back();
    waiting.pop_back();
    const Includes includes = includes_of(body);
    if (includes.computed)
      for (const auto& [name, header] : by_name) reach(name);
    for (const std::string& name : includes.names) {
      reach(name);
      const auto beside = std::filesystem::path(includer).parent_path() / name;  // a quoted name, beside its includer
      reach(beside.lexically_normal().generic_string());
    }
  }
  std::vector<Header> out;
  for (const std::string& name : reached) out.push_back(*by_name[name]);
  return out;
}

Status check_source(const Source& source, std::span<const Header> reached) {
  std::set<std::string_view> names;
  for (const Header& header : source.headers) {
    if (!stays_inside(header.name))
      return Status::invalid(fmt::format("header '{}' is no name inside a bundle", header.name));
    if (!names.insert(header.name).second) return Status::invalid(fmt::format("header {} is given twice", header.name));
  }
  for (const std::string& option : source.options)
    if (!is_allowed(option))
      return Status::invalid(
          fmt::format("option '{}' is none of -D, -U, --maxrregcount=, --gpu-max-threads-per-block=, "
                      "-mcumode, -mno-cumode, -march=, -mprefer-vector-width=, -maes, -O1, -O2, -O3",
                      option));
  const auto clock = [](std::string_view text) -> std::string_view {
    for (const std::string_view macro : {"__DATE__", "__TIME__", "__TIMESTAMP__"})
      if (text.find(macro) != std::string_view::npos) return macro;
    return {};
  };
  const auto refuse = [](std::string_view where, std::string_view macro) {
    return Status::invalid(fmt::format("{} names {}: a kernel may not depend on the clock", where, macro));
  };
  if (const auto macro = clock(source.text); !macro.empty()) return refuse(source.label, macro);
  for (const Header& header : reached)
    if (const auto macro = clock(header.text); !macro.empty()) return refuse(header.name, macro);
  return {};
}

std::string digest_of(std::string_view text, std::span<const Header> reached) {
  base::PartsDigest digest;
  digest.add(text);
  for (const Header& header : reached) digest.add(header.name).add(header.text);
  return digest.hex();
}

}  // namespace tokitai::compiler

#include "loader/diagnosis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/lines.h"
#include "loader/parts.h"

namespace tokitai::loader {
namespace {

// A line of a log: FILE:LINE:COLUMN: TEXT.
struct Said {
  std::string_view file, text;
  int line = 0;
};
bool read(std::string_view line, Said& said) {
  const std::size_t first = line.find(':');
  if (first == std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(line.data() + first + 1, line.data() + line.size(), said.line);
  if (error != std::errc()) return false;
  said.file = line.substr(0, first);
  said.text = line.substr(static_cast<std::size_t>(end - line.data()));
  while (!said.text.empty() &&
         (said.text.front() == ':' || std::isdigit(static_cast<unsigned char>(said.text.front())) != 0))
    said.text.remove_prefix(1);
  said.text = base::trimmed(said.text);
  return true;
}

// ‘x’ and 'x' alike, without the type arguments that make names unreadable.
std::string plain(std::string_view text) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\u2018") || text.substr(i).starts_with("\u2019")) {
      out += '\'';
      i += 2;
    } else if (text.substr(i).starts_with("[with ") || text.substr(i).starts_with("[M = ")) {
      break;
    } else if (text[i] == '<' && i + 1 < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0 || text[i + 1] == ':')) {
      ++depth;
    } else if (text[i] == '>' && depth > 0) {
      --depth;
    } else if (depth == 0) {
      out += text[i];
    }
  }
  return out;
}

std::string_view quoted_behind(std::string_view text, std::string_view words) {
  std::size_t at = text.find(words);
  if (at == std::string_view::npos) return {};
  at = text.find('\'', at + words.size());
  if (at == std::string_view::npos) return {};
  return text.substr(at + 1, text.find('\'', at + 1) - at - 1);
}

// In the words of somebody who wrote a definition, where that is possible.
std::string sentence(std::string_view error, const Definition& definition) {
  std::string_view member = quoted_behind(error, "has no member named");
  if (member.empty()) member = quoted_behind(error, "no member named");
  for (const std::string& name : definition.structs) {
    const std::string last = name.substr(name.rfind(':') + 1);
    if ((member == last || quoted_behind(error, "") == last || quoted_behind(error, "") == name) &&
        (error.find("is not a member of") != std::string_view::npos || member == last))
      return fmt::format("no struct {} in it, which the contract's operator needs", last);
  }
  if (error.find("Contract") != std::string_view::npos && error.find("derives") != std::string_view::npos)
    return std::string(error);
  if (!member.empty())
    return fmt::format(
        "it asks for '{}': the contract has no operand, option or scalar of that name, and the pattern "
        "no such verb",
        member);
  if (error.find("deleted") != std::string_view::npos && error.find("Traced") != std::string_view::npos)
    return "a number of type double, which float machines would round otherwise; write 0.1f";
  // On the first machine that is compiled, describe, comparisons answer with something that is no bool.
  const bool converted = error.find("could not convert") != std::string_view::npos ||
                         error.find("is not contextually convertible") != std::string_view::npos;
  if (converted && error.find("'bool'") != std::string_view::npos)
    return "an if or ?: on a value that is computed; write select(condition, yes, no)";
  return std::string(error);
}

}  // namespace

Status diagnosis(const Definition& definition, std::string_view log) {
  int line = 0;        // in the definition
  int on_the_way = 0;  // where it asks for what is wrong
  std::string said;
  base::for_each_line(log, [&](std::string_view text) {
    Said one;
    if (!said.empty() && line != 0) return;
    if (!read(text, one)) return;
    const bool inside = one.file.ends_with(definition.header);
    const std::size_t at = one.text.find("error: ");
    if (at != std::string_view::npos && said.empty()) {
      said = plain(one.text.substr(at + 7));
      if (inside) line = one.line;
    } else if (inside && (line == 0)) {
      on_the_way = on_the_way == 0 || !said.empty() ? one.line : on_the_way;
      if (!said.empty()) line = one.line;  // clang: in instantiation of, below the error
    }
  });
  if (said.empty()) return Status::invalid(fmt::format("{}: it does not compile\n{}", definition.path, log));
  if (line == 0) line = on_the_way;
  const std::string what = sentence(said, definition);
  if (line == 0) return Status::invalid(fmt::format("{}: {}", definition.path, what));
  return Status::invalid(fmt::format("{}:{}: {}", definition.path, line, what));
}

}  // namespace tokitai::loader

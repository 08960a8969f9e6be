#include "loader/option_text.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "contract/build.h"
#include "contract/parse.h"
#include "loader/words.h"

namespace tokitai::loader {
namespace {

struct Bound {
  std::string word;       // < <= > >=
  std::string_view text;  // the number, as it is written
  double number = 0;      // of an f32: rounded as a value of the option is
  std::int64_t integer = 0;
};
using Limits = std::vector<Bound>;

Status read_kind(const Line& line, std::string_view kind, OptionSpec& spec) {
  if (kind == "f32" || kind == "integer") {
    spec.kind = kind == "f32" ? OptionKind::f32 : OptionKind::integer;
    return {};
  }
  spec.fallback = option_integer(0);
  if (kind == "flag") {
    spec.kind = OptionKind::flag;
    return {};
  }
  if (!kind.starts_with("choice(") || !kind.ends_with(')'))
    return line.refuse("{}: '{}' is no kind of option; it is one of f32, integer, flag, choice(a,b)", spec.name, kind);
  spec.kind = OptionKind::choice;
  std::string_view names = kind.substr(7, kind.size() - 8);
  for (std::size_t comma = 0; comma != std::string_view::npos; names.remove_prefix(std::min(comma + 1, names.size()))) {
    comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    if (!is_name(name)) return line.refuse("{}: '{}' is no name", spec.name, name);
    if (std::find(spec.choices.begin(), spec.choices.end(), name) != spec.choices.end())
      return line.refuse("{}: '{}' stands twice", spec.name, name);
    spec.choices.push_back(name);
  }
  if (spec.choices.size() < 2) return line.refuse("{}: a choice has two names at the least", spec.name);
  return {};
}

bool read_bound(OptionKind kind, std::string_view text, Bound& bound) {
  if (kind == OptionKind::integer) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bound.integer);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
  }
  float value = 0;
  if (parse_f32(text, value) != std::errc() || !std::isfinite(value)) return false;
  bound.number = static_cast<double>(value);
  return true;
}

Status read_properties(Line& line, OptionSpec& spec, Limits& limits, std::string_view& fallback) {
  while (!line.rest.empty() && !line.rest.starts_with(':')) {
    const std::string_view word = line.word();
    if (word == "required") {
      spec.required = true;
    } else if (word == "=") {
      fallback = line.word();
      if (fallback.empty() || fallback == ":") return line.refuse("{}: no value behind =", spec.name);
    } else if (word == "<" || word == "<=" || word == ">" || word == ">=") {
      const std::string_view number = line.word();
      Bound bound{std::string(word), number};
      if (!read_bound(spec.kind, number, bound)) return line.refuse("{}: '{} {}' is no limit", spec.name, word, number);
      limits.push_back(bound);
    } else {
      return line.refuse("{}: '{}' is no property of an option; they are required, = VALUE, < N, <= N, > N, >= N",
                         spec.name, word);
    }
  }
  const bool number = spec.kind == OptionKind::f32 || spec.kind == OptionKind::integer;
  if (!number && !limits.empty()) return line.refuse("{}: limits are of numbers", spec.name);
  if (spec.required && !fallback.empty()) return line.refuse("{} is required and has a value", spec.name);
  return {};
}

std::string range_words(OptionKind kind, const Limits& limits) {
  if (kind == OptionKind::flag) return "0 or 1";
  std::string words = kind == OptionKind::f32 ? "finite" : limits.empty() ? "an integer" : "";
  for (const Bound& bound : limits)
    words += fmt::format("{}{} {}", words.empty() ? "" : " and ", bound.word, bound.text);
  return words;
}

template <class T> bool within(const std::string& word, T value, T bound) {
  if (word == "<") return value < bound;
  if (word == "<=") return value <= bound;
  return word == ">" ? value > bound : value >= bound;
}

// A value as the command takes it.
Result<Option> value_of(const OptionSpec& spec, std::string_view text) {
  Contract alone;
  alone.options = {spec};
  Option value;
  if (Status s = parse_option(alone, spec.name, text, value); !s.ok()) return s;
  return value;
}

}  // namespace

Result<OptionSpec> read_option(Line line, std::string_view name, std::deque<std::string>& words) {
  OptionSpec spec{};
  spec.name = name;
  Limits limits;
  std::string_view fallback;
  if (Status s = read_kind(line, line.word(), spec); !s.ok()) return s;
  if (Status s = read_properties(line, spec, limits, fallback); !s.ok()) return s;
  if (Status s = line.text(name, spec.text); !s.ok()) return s;
  if (spec.required) spec.fallback = option_unset();
  spec.range = words.emplace_back(range_words(spec.kind, limits));
  spec.allowed = [limits, kind = spec.kind](const Option& option) {
    if (kind == OptionKind::flag) return option::flag(option);
    return (kind != OptionKind::f32 || std::isfinite(option.f)) &&
           std::all_of(limits.begin(), limits.end(), [&](const Bound& bound) {
             return kind == OptionKind::f32 ? within(bound.word, static_cast<double>(option.f), bound.number)
                                            : within(bound.word, option.i, bound.integer);
           });
  };
  if (fallback.empty()) return spec;
  auto value = value_of(spec, fallback);
  if (!value.ok()) return line.refuse("{} = {}; it must be {}", name, fallback, range_of(spec));
  if (!spec.allowed(value.value())) return line.refuse("{} = {}; it must be {}", name, fallback, spec.range);
  spec.fallback = value.value();
  return spec;
}

}  // namespace tokitai::loader

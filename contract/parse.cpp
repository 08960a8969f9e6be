#include "contract/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>

namespace tokitai {

std::errc parse_f32(std::string_view text, float& value) {
  const char *begin = text.data(), *end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || text.empty() || error == std::errc::invalid_argument) return std::errc::invalid_argument;
  if (error == std::errc()) return error;
  // Too small or too large: the C library rounds the one, once, and says which it is. Not in the caller's language.
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  value = ::strtof_l(std::string(text).c_str(), nullptr, plain);
  return std::isinf(value) ? std::errc::result_out_of_range : std::errc();
}

Status parse_option(const Contract& contract, std::string_view name, std::string_view text, Option& option) {
  const int index = contract.option_index(name);
  if (index < 0) return Status::invalid(fmt::format("{} has no option {}", contract.name, name));
  const OptionSpec& spec = contract.options[static_cast<std::size_t>(index)];
  const auto refuse = [&](std::string_view what) {
    return Status::invalid(
        fmt::format("{}: {} = '{}' is not {}; it must be {}", contract.name, name, text, what, range_of(spec)));
  };
  const char *begin = text.data(), *end = begin + text.size();
  option = {.set = true};
  if (spec.kind == OptionKind::f32) {
    const std::errc error = parse_f32(text, option.f);
    if (error == std::errc()) return {};
    return refuse(error == std::errc::result_out_of_range ? "a number within binary32's range" : "a number");
  }
  if (spec.kind == OptionKind::choice) {
    const auto chosen = std::find(spec.choices.begin(), spec.choices.end(), text);
    if (chosen == spec.choices.end()) return refuse("one of its values");
    option.i = chosen - spec.choices.begin();
    return {};
  }
  if (spec.kind == OptionKind::flag && (text == "true" || text == "false")) {
    option.i = text == "true" ? 1 : 0;
    return {};
  }
  const auto [stop, error] = std::from_chars(begin, end, option.i);
  if (error != std::errc() || stop != end) return refuse(spec.kind == OptionKind::flag ? "0 or 1" : "an integer");
  return {};
}

std::string text_of(const OptionSpec& spec, const Option& option) {
  if (spec.kind == OptionKind::f32) return fmt::format("{}", option.f);
  if (spec.kind == OptionKind::choice && option.i >= 0 && option.i < std::ssize(spec.choices))
    return std::string(spec.choices[static_cast<std::size_t>(option.i)]);
  return fmt::format("{}", option.i);
}

std::string range_of(const OptionSpec& spec) {
  return spec.kind == OptionKind::choice ? fmt::format("{}", fmt::join(spec.choices, " or ")) : std::string(spec.range);
}

}  // namespace tokitai

#include "contract/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace tokitai {

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
    const auto [stop, error] = std::from_chars(begin, end, option.f);
    if (error == std::errc::result_out_of_range && stop == end) {
      // Too small is a matter of rounding (the C library's, once); too large is no number we can hold.
      option.f = std::strtof(std::string(text).c_str(), nullptr);
      return std::isinf(option.f) ? refuse("a number within binary32's range") : Status();
    }
    if (error != std::errc() || stop != end) return refuse("a number");
    return {};
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

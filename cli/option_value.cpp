// Options by std::from_chars: no locale, no detour over binary64, nothing ignored behind the number.
#include "cli/option_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tokitai::cli {
namespace {

Status refuse(const OptionSpec& spec, const std::string& text, std::string_view why) {
  return Status::invalid(fmt::format("{} = {}; {}; it must be {}", spec.name, text, why, spec.range));
}

Result<Option> parse_f32(const OptionSpec& spec, const std::string& text) {
  const char* end = text.data() + text.size();
  float value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return refuse(spec, text, "that is not a number");
  if (error == std::errc::result_out_of_range) {
    // from_chars says this of numbers too small as well; those round to zero.
    value = std::strtof(text.c_str(), nullptr);
    if (std::isinf(value)) return refuse(spec, text, "that is beyond binary32");
  }
  return option_f32(value);
}

Result<Option> parse_integer(const OptionSpec& spec, const std::string& text) {
  const char* end = text.data() + text.size();
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return refuse(spec, text, "that is not an integer");
  if (error == std::errc::result_out_of_range) return refuse(spec, text, "that is beyond 64 bits");
  return option_integer(value);
}

Result<Option> parse_flag(const OptionSpec& spec, const std::string& text) {
  if (text == "0" || text == "false") return option_integer(0);
  if (text == "1" || text == "true") return option_integer(1);
  return refuse(spec, text, "that is neither true nor false");
}

}  // namespace

Result<Option> parse_option(const OptionSpec& spec, const std::string& text) {
  switch (spec.kind) {
    case OptionKind::f32: return parse_f32(spec, text);
    case OptionKind::integer: return parse_integer(spec, text);
    case OptionKind::flag: return parse_flag(spec, text);
  }
  return Status(Code::internal, "an option of unknown kind");
}

}  // namespace tokitai::cli

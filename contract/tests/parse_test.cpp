// Options from text: a decimal number is rounded once to binary32, everything else is refused by name.
#include "contract/parse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/base.h"

namespace tokitai {
namespace {

const Contract& layernorm() { return *find_contract("layernorm.forward"); }
const Contract& adamw() { return *find_contract("adamw.step"); }

float number(std::string_view text) {
  Option option;
  const Status status = parse_option(layernorm(), "eps", text, option);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(option.set);
  return option.f;
}
std::int64_t integer(const Contract& contract, std::string_view name, std::string_view text) {
  Option option;
  const Status status = parse_option(contract, name, text, option);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(option.set);
  return option.i;
}
void expect_refused(const Contract& contract, std::string_view name, std::string_view text, std::string_view what) {
  Option option;
  const Status status = parse_option(contract, name, text, option);
  EXPECT_EQ(status.code(), Code::invalid) << name << " = '" << text << "'";
  for (std::string_view word : {contract.name, name, text, what})
    EXPECT_NE(status.message().find(word), std::string::npos) << word << " | " << status.message();
}

TEST(ParseOption, RoundsADecimalOnceToBinary32) {
  EXPECT_EQ(number("1e-5"), 1e-5f);
  EXPECT_EQ(number("0.1"), 0.1f);
  EXPECT_EQ(number("3"), 3.0f);
  EXPECT_EQ(number("-2.5"), -2.5f);
  // Just above and below the middle between 1 and its successor: through binary64 both would be the middle.
  EXPECT_EQ(number("1.00000005960464477539062500000001"), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(number("1.00000005960464477539062499999999"), 1.0f);
  EXPECT_EQ(number("1.000000059604644775390625"), 1.0f);  // the middle itself: to even
  EXPECT_EQ(number("3.4028235e38"), std::numeric_limits<float>::max());
}

TEST(ParseOption, KeepsSubnormalsAndRoundsSmallerNumbersToZero) {
  EXPECT_EQ(number("1e-45"), 0x1p-149f);
  EXPECT_EQ(number("0.8e-45"), 0x1p-149f);
  EXPECT_EQ(bits(number("0.7e-45")), bits(0.0f));
  EXPECT_EQ(bits(number("1e-60")), bits(0.0f));
  EXPECT_EQ(bits(number("-1e-60")), bits(-0.0f));
  EXPECT_EQ(bits(number("1e-400")), bits(0.0f));
}

TEST(ParseOption, GivesNanAndInfinityToTheContractToRefuse) {
  EXPECT_TRUE(std::isnan(number("nan")));
  EXPECT_EQ(number("inf"), kInfinity);
  EXPECT_EQ(number("-inf"), -kInfinity);
}

TEST(ParseOption, RefusesWhatIsNoNumber) {
  for (std::string_view text : {"", "abc", "1e-5x", "1,5", " 1", "1 ", "--1", "1e", "0x1p3", "1.5.2"})
    expect_refused(layernorm(), "eps", text, "number");
}

TEST(ParseOption, RefusesNumbersBeyondBinary32) {
  for (std::string_view text : {"1e39", "-1e39", "3.5e38", "1e400"}) expect_refused(layernorm(), "eps", text, "range");
}

TEST(ParseOption, ReadsIntegersOf64Bits) {
  EXPECT_EQ(integer(adamw(), "t", "1"), 1);
  EXPECT_EQ(integer(adamw(), "t", "-100"), -100);
  EXPECT_EQ(integer(adamw(), "t", "9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (std::string_view text : {"", "9223372036854775808", "1.5", "1e3", "0x10", "one", " 1", "1 "})
    expect_refused(adamw(), "t", text, "integer");
}

TEST(ParseOption, ReadsFlags) {
  EXPECT_EQ(integer(adamw(), "skip_nonfinite", "1"), 1);
  EXPECT_EQ(integer(adamw(), "skip_nonfinite", "0"), 0);
  EXPECT_EQ(integer(adamw(), "skip_nonfinite", "true"), 1);
  EXPECT_EQ(integer(adamw(), "skip_nonfinite", "false"), 0);
  for (std::string_view text : {"", "yes", "True", "1.0"}) expect_refused(adamw(), "skip_nonfinite", text, "0 or 1");
}

TEST(ParseOption, ReadsAChoiceByItsNameAndNothingElse) {
  const Contract& cross_entropy = *find_contract("cross_entropy.forward_backward");
  EXPECT_EQ(integer(cross_entropy, "reduction", "sum"), 0);
  EXPECT_EQ(integer(cross_entropy, "reduction", "mean"), 1);
  for (std::string_view text : {"", "0", "1", "Mean", "mea", "means", "sum or mean"})
    expect_refused(cross_entropy, "reduction", text, "must be sum or mean");
}

TEST(ParseOption, IsReadBackFromTheTextOfItsValue) {
  for (const Contract* contract : contracts())
    for (const OptionSpec& spec : contract->options) {
      const auto count = static_cast<std::int64_t>(std::max<std::size_t>(spec.choices.size(), 2));
      for (std::int64_t i = 0; i < count; ++i) {
        const Option value =
            spec.kind == OptionKind::f32 ? option_f32(0.1f + static_cast<float>(i)) : option_integer(i);
        Option found;
        ASSERT_TRUE(parse_option(*contract, spec.name, text_of(spec, value), found).ok()) << spec.name;
        EXPECT_EQ(found.i, value.i) << spec.name;
        EXPECT_EQ(found.f, value.f) << spec.name;
      }
    }
}

TEST(ParseOption, RefusesAnOptionTheOperatorLacks) {
  Option option;
  const Status status = parse_option(layernorm(), "epsilon", "1e-5", option);
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("layernorm.forward has no option epsilon"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace tokitai

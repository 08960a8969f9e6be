// Numbers in a text request: a decimal is rounded once to binary32, by the rule that options have.
#include "requests/request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "contract/parse.h"
#include "numerics/base.h"

namespace tokitai::requests {
namespace {

// One element of AdamW whose learning rate and first moment are that text.
ParsedRequest adamw(std::string_view number) {
  return parse_text_request(RequestFamily::adamw, fmt::format("1 {0} 0.9 0.999 1e-8 0 1 15360 {0} 0 15360", number));
}

TEST(TextRequest, ADecimalIsTheBinary32ThatAnOptionOfThatTextIs) {
  for (const std::string_view text : {"1e-5", "0.1", "-2.5", "3.4028235e38", "1e-45", "0.8e-45", "0.7e-45", "1e-60",
                                      "-1e-60", "1e-400", "0.00000000000000000000000000000000000000000000000001",
                                      "1.00000005960464477539062500000001", "1.00000005960464477539062499999999"}) {
    Option option;
    ASSERT_TRUE(parse_option(*find_contract("adamw.step"), "lr", text, option).ok()) << text;
    ParsedRequest parsed = adamw(text);
    ASSERT_EQ(parsed.status, 0) << text << ": " << parsed.error;
    const Call& call = parsed.request.call;
    EXPECT_EQ(bits(call.option(call.contract->option_index("lr")).f), bits(option.f)) << text;
    EXPECT_EQ(bits(static_cast<const float*>(call.list.at(0)[1].data)[0]), bits(option.f)) << text;
  }
}

TEST(TextRequest, WhatIsNoBinary32IsRefused) {
  for (const std::string_view text : {"1e39", "-1e39", "1e400", "0x1p3", "1e", "1,5", "--1", "abc"})
    EXPECT_EQ(adamw(text).status, kBadHeader) << text;
}

}  // namespace
}  // namespace tokitai::requests

// JSON from strangers: bounded, each key once, and what does not fit is named by its path.
#include "evidence/bounded_json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tokitai::evidence {
namespace {

std::string refusal_of(std::string_view text) {
  const auto parsed = parse_bounded(text);
  return parsed.ok() ? "" : parsed.status().message();
}

TEST(BoundedJson, ReadsWhatIsJson) { EXPECT_EQ(parse_bounded(R"({"a": [1, {"b": "c"}]})").value()["a"][1]["b"], "c"); }

TEST(BoundedJson, RefusesWhatIsNot) {
  for (const char* text :
       {"", " ", "{", "nope", "{\"a\":1}x", "{\"a\":}", "[1,]", "\xff\xfe", "{\"a\": \"\xff\"}", "NaN"})
    EXPECT_NE(refusal_of(text).find("not JSON"), std::string::npos) << text;
}

TEST(BoundedJson, RefusesDeepNestingWithoutBuildingIt) {
  for (const char* opening : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 1000000; ++i) text += opening;
    EXPECT_NE(refusal_of(text).find("nested"), std::string::npos);
  }
  const std::string deepest = std::string(kDeepest, '[') + std::string(kDeepest, ']');
  EXPECT_EQ(refusal_of(deepest), "");
  EXPECT_NE(refusal_of("[" + deepest + "]"), "");
}

TEST(BoundedJson, RefusesMoreThanItReads) {
  EXPECT_NE(refusal_of(std::string(kLargestDocument + 1, ' ')).find("at most"), std::string::npos);
}

// 2^63 - 1 is the largest count there is; the largest figure is the largest binary64.
TEST(BoundedJson, TakesNoNumberThatItsTypeCannotHold) {
  const auto refusal = [](const char* number, auto read) {
    const auto document = parse_bounded(fmt::format(R"({{"n": {0}, "all": [0, {0}]}})", number));
    if (!document.ok()) return document.status().message();
    Fields fields(document.value(), "$");
    read(fields);
    return fields.end().message();
  };
  const auto count = [](Fields& f) { f.integer("n"), f.integers("all"); };
  const auto counts = [](Fields& f) { f.integers("all"), f.integer("n"); };
  const auto figures = [](Fields& f) { f.number("n"), f.numbers("all"); };
  for (const char* good : {"0", "1", "9223372036854775807"}) {
    EXPECT_EQ(refusal(good, count), "") << good;
    EXPECT_EQ(refusal(good, figures), "") << good;
  }
  for (const char* bad :
       {"-1", "-0", "0.5", "1.0", "1e3", "1e300", "-1e300", "9223372036854775808", "18446744073709551615",
        "18446744073709551616", "1e999", "NaN", "Infinity", "\"1\"", "null", "true", "[1]", "{}"}) {
    EXPECT_NE(refusal(bad, count), "") << bad;
    EXPECT_NE(refusal(bad, counts), "") << bad;
  }
  for (const char* good : {"0.5", "1e300", "18446744073709551616", "5e-324"})
    EXPECT_EQ(refusal(good, figures), "") << good;
  for (const char* bad : {"-1", "-0.5", "-1e300", "1e999", "NaN", "Infinity", "\"1\"", "null", "true"})
    EXPECT_NE(refusal(bad, figures), "") << bad;
}

TEST(BoundedJson, RefusesAKeyThatStandsTwice) {
  EXPECT_NE(refusal_of(R"({"a": 1, "b": {"c": 1, "c": 2}})").find("\"c\" stands twice"), std::string::npos);
  EXPECT_EQ(refusal_of(R"([{"a": 1}, {"a": 2}, {"b": {"a": 3}, "a": 4}])"), "");
}

TEST(Fields, NameTheFirstThatDoesNotFit) {
  const auto message = [](const char* text) {
    const auto document = parse_bounded(text);
    Fields fields(document.value(), "$");
    fields.string("name");
    fields.integer("count");
    fields.object("inner", [](Fields& inner) { inner.digest("sha256"); });
    fields.array("list", 1, 2, [](Fields& one) { one.number("x"); });
    return fields.end().message();
  };
  const std::string digest(64, 'a');
  const auto document = [&](const std::string& name, const std::string& count, const std::string& inner,
                            const std::string& list) {
    return "{\"name\":" + name + ",\"count\":" + count + ",\"inner\":" + inner + ",\"list\":" + list + "}";
  };
  const std::string inner = "{\"sha256\":\"" + digest + "\"}";
  EXPECT_EQ(message(document("\"a\"", "1", inner, "[{\"x\":1.5}]").c_str()), "");
  EXPECT_EQ(message("[]"), "$ is not an object");
  EXPECT_EQ(message("{}"), "$.name is missing");
  EXPECT_EQ(message(document("7", "1", inner, "[{\"x\":1}]").c_str()), "$.name is not a text");
  for (const char* count : {"-1", "1.5", "\"1\"", "1e3", "18446744073709551615", "null"})
    EXPECT_EQ(message(document("\"a\"", count, inner, "[{\"x\":1}]").c_str()), "$.count is not an integer >= 0");
  EXPECT_EQ(message(document("\"a\"", "1", "{\"sha256\":\"AB\"}", "[{\"x\":1}]").c_str()),
            "$.inner.sha256 is not a SHA-256 digest in hexadecimal");
  EXPECT_EQ(message(document("\"a\"", "1", "{}", "[{\"x\":1}]").c_str()), "$.inner.sha256 is missing");
  EXPECT_EQ(message(document("\"a\"", "1", inner, "[]").c_str()), "$.list has 0 entries; it must have 1 to 2");
  EXPECT_EQ(message(document("\"a\"", "1", inner, "[{\"x\":1},{\"x\":-1}]").c_str()),
            "$.list[1].x is not a number >= 0");
  EXPECT_EQ(message(document("\"a\"", "1", inner, "[{\"x\":1,\"y\":2}]").c_str()),
            "$.list[0] has a field \"y\" that does not belong there");
  EXPECT_EQ(message(document("\"a\"", "1", inner, "[3]").c_str()), "$.list[0] is not an object");
}

}  // namespace
}  // namespace tokitai::evidence

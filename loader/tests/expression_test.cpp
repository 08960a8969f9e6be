// Formulas of scalars: what they give, and what is no formula.
#include "loader/expression.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tokitai::loader {
namespace {

double value(std::string_view text, double x = 3, double t = 4) {
  const auto made = Expression::parse(text);
  EXPECT_TRUE(made.ok()) << text << ": " << made.status().message();
  return made->value([&](std::string_view name) { return name == "x" ? x : t; }).value_or(NAN);
}

TEST(Expression, HasTheOrderOfArithmetic) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("8 / 4 / 2"), 1);
  EXPECT_EQ(value("1 - 2 - 3"), -4);
  EXPECT_EQ(value("-x ^ 2"), -9);
  EXPECT_EQ(value("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(value("1e-5*x"), 1e-5 * 3);
  EXPECT_EQ(value("sqrt(x + 1)"), 2);
}

TEST(Expression, RaisesByRepeatedSquaringFromTheLowestBit) {
  double power = 1, square = static_cast<double>(0.999f);
  for (int left = 1000; left != 0; left >>= 1, square *= square)
    if ((left & 1) != 0) power *= square;
  EXPECT_EQ(value("1 - x ^ t", static_cast<double>(0.999f), 1000), 1 - power);
}

TEST(Expression, HasNoValueWhereAPowerIsNoWholeNumber) {
  for (const double t : {0.5, -1.0, 0x1p31, std::nan("")})
    EXPECT_FALSE(Expression::parse("x ^ t")->value([&](std::string_view n) { return n == "x" ? 2.0 : t; }).has_value());
}

TEST(Expression, RefusesWhatIsNoFormula) {
  for (const char* text :
       {"", "1 +", "* 2", "(1", "1)", "1 2", "sqrt 2", "sqrt(2", "1..2", "1e", "x y", "x @ 2", "0x10"}) {
    const auto made = Expression::parse(text);
    EXPECT_EQ(made.status().code(), Code::invalid) << text;
  }
  EXPECT_FALSE(Expression::parse(std::string(100000, '(')).ok());
  EXPECT_FALSE(Expression::parse(std::string(100000, '-') + "1").ok());
}

TEST(Expression, NamesWhatItIsMadeOf) {
  EXPECT_EQ(Expression::parse("a + b * a")->names(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace tokitai::loader

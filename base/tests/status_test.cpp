// The one place where the library prints and aborts: a value is asked for that is not there.
#include <gtest/gtest.h>

#include "tokitai/tokitai.h"

namespace tokitai {
namespace {

class ResultDeathTest : public ::testing::Test {
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ResultDeathTest, AValueThatIsNotThereEndsTheProgramWithTheReason) {
  EXPECT_DEATH(static_cast<void>(open("nowhere").value()), "tokitai: no device 'nowhere'; there are cpu");
  Result<Device> result = open("nowhere");
  EXPECT_DEATH(static_cast<void>(result.value()), "tokitai: no device 'nowhere'");
  EXPECT_DEATH(static_cast<void>(result->threads()), "tokitai: no device 'nowhere'");
  const Result<Device> constant = open("nowhere");
  EXPECT_DEATH(static_cast<void>(constant.value()), "tokitai: no device 'nowhere'");
  EXPECT_DEATH(static_cast<void>(constant->name()), "tokitai: no device 'nowhere'");
}

TEST(Result, GivesItsValueWhereThereIsOne) {
  Result<std::string> result(std::string("there"));
  EXPECT_EQ(result.value(), "there");
  EXPECT_EQ(result->size(), 5u);
  EXPECT_EQ(std::move(result).value(), "there");
}

}  // namespace
}  // namespace tokitai

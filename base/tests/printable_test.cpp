// Nothing that steers a terminal passes, and nothing else is changed.
#include "base/printable.h"

#include <gtest/gtest.h>

namespace tokitai::base {
namespace {

TEST(Printable, SpellsOutWhatSteersATerminal) {
  EXPECT_EQ(printable("\x1b[2J"), "\\u001b[2J");
  EXPECT_EQ(printable(std::string_view("\0\a\b\r\x7f", 5)), "\\u0000\\u0007\\u0008\\u000d\\u007f");
  EXPECT_EQ(printable("\u0085\u009b\u202e\u2066\u2028"), "\\u0085\\u009b\\u202e\\u2066\\u2028");
  EXPECT_EQ(printable("a\n\tb"), "a\n\tb");
  EXPECT_EQ(one_line("a\n\tb"), "a\\u000a\\u0009b");
}

TEST(Printable, SpellsOutWhatIsNoUtf8) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");                    // a longer form of a shorter character
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last character
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");                    // cut short
  EXPECT_EQ(printable("\xe2\x1b[1m"), "\\xe2\\u001b[1m");
}

TEST(Printable, KeepsEveryOtherText) {
  for (const char* text : {"", "plain", "Ünïcödé", "\u20ac \U0001f600 \u00a0", "back\\slash \"quotes\""})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, KnowsACharacterThatABufferCuts) {
  const std::string text = "a\u00fc\u20ac\U0001f600";
  const std::size_t cut[] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0};
  for (std::size_t end = 0; end <= text.size(); ++end)
    EXPECT_EQ(cut_character(std::string_view(text).substr(0, end)), cut[end]) << end;
  EXPECT_EQ(cut_character("\x80\x80\x80\x80"), 0u);  // no beginning: nothing to wait for
}

}  // namespace
}  // namespace tokitai::base

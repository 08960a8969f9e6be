// A message that arrives in pieces: it comes out whole, whatever the pieces, and takes no memory before it may.
#include "server/inbox.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tokitai::server {
namespace {

std::string message(Kind kind, std::uint32_t sequence, std::string_view body) {
  const auto header = encode(Header{kind, static_cast<std::uint32_t>(body.size()), sequence});
  return std::string(header.data(), header.size()) + std::string(body);
}

TEST(Inbox, MessagesComeOutWholeWhateverThePieces) {
  const std::string bytes =
      message(Kind::call, 1, "abcdefgh") + message(Kind::inquiry, 2, "") + message(Kind::call, 3, "z");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    Inbox inbox(100);
    std::vector<std::string> found;
    std::size_t at = 0;
    while (found.size() < 3) {
      if (inbox.asks()) inbox.grant();
      if (inbox.complete()) {
        const Message one = inbox.take();
        found.push_back(std::to_string(one.header.sequence) + one.body);
        continue;
      }
      const std::span<char> room = inbox.room();
      const std::size_t count = std::min({room.size(), piece, bytes.size() - at});
      ASSERT_GT(count, 0u);
      std::memcpy(room.data(), bytes.data() + at, count);
      at += count;
      ASSERT_TRUE(inbox.took(count).ok());
    }
    EXPECT_EQ(found, (std::vector<std::string>{"1abcdefgh", "2", "3z"}));
    EXPECT_EQ(at, bytes.size());
    EXPECT_FALSE(inbox.begun());
  }
}

TEST(Inbox, ABodyHasNoRoomBeforeItIsGranted) {
  Inbox inbox(1 << 20);
  const std::string header = message(Kind::call, 1, std::string(1 << 20, 'x')).substr(0, kHeaderBytes);
  std::memcpy(inbox.room().data(), header.data(), header.size());
  ASSERT_TRUE(inbox.took(header.size()).ok());
  EXPECT_TRUE(inbox.asks());
  EXPECT_TRUE(inbox.room().empty());
  EXPECT_EQ(inbox.length(), 1u << 20);
  inbox.grant();
  EXPECT_EQ(inbox.room().size(), 1u << 20);
}

TEST(Inbox, TooLongAMessageIsRefusedAtItsHeader) {
  Inbox inbox(7);
  const std::string bytes = message(Kind::call, 1, "12345678");
  std::memcpy(inbox.room().data(), bytes.data(), kHeaderBytes);
  EXPECT_EQ(inbox.took(kHeaderBytes).message(), "a message of 8 bytes; the most here is 7");
}

}  // namespace
}  // namespace tokitai::server

// The shared memory: pages come back and join, a full one is a status, and a commit shows what was written and leaves
// the rest alone, whether it flips or copies.
#include "server/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "server/buffers.h"
#include "server/tests/processes.h"

namespace tokitai::server {
namespace {

std::int64_t pages_held(const Arena& arena) {
  struct stat facts{};
  fstat(arena.descriptor(), &facts);
  return facts.st_blocks * 512 / kPage;
}

TEST(Arena, PagesComeBackAndJoin) {
  auto arena = Arena::make(8 * kPage).value();
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < 8; ++i) offsets.push_back(arena->reserve(kPage).value());
  EXPECT_EQ(pages_held(*arena), 8);
  auto full = arena->reserve(kPage);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.status().code(), Code::unavailable);
  EXPECT_EQ(full.status().message(), "shared memory is full: 4096 bytes asked, 32768 of 32768 in use");
  for (const int i : {1, 3, 2, 7, 0, 5, 6, 4}) arena->release(offsets[static_cast<std::size_t>(i)], kPage);
  EXPECT_EQ(arena->in_use(), 0);
  EXPECT_EQ(pages_held(*arena), 0);  // given back to the system, not only to us
  EXPECT_EQ(arena->reserve(8 * kPage).value(), 0);
}

TEST(Arena, LargePiecesLieOnLargePages) {
  auto arena = Arena::make(16 * kLargePage).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->at(0)) % kLargePage, 0u);
  EXPECT_EQ(arena->reserve(kPage).value(), 0);
  EXPECT_EQ(arena->reserve(kLargePage + kPage).value(), kLargePage);
  EXPECT_EQ(arena->reserve(3 * kPage).value(), kPage);  // what lies before it is not lost
  Buffers buffers(*arena);
  auto* memory = static_cast<std::byte*>(buffers.allocate(2 * kLargePage + 1).value());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % kLargePage, 0u);
  for (std::int64_t i = 0; i < 2 * kLargePage; ++i) memory[i] = static_cast<std::byte>(i % 251);
  Buffers::Buffer& buffer = *buffers.find(memory, 1);
  for (int i = 0; i < 5; ++i) buffers.use(buffer);  // moved, where the system can: nothing else changes
  bool same = true;
  for (std::int64_t i = 0; i < 2 * kLargePage; ++i) same = same && memory[i] == static_cast<std::byte>(i % 251);
  EXPECT_TRUE(same);
  buffers.release(memory);
  arena->release(0, kPage);
  arena->release(kPage, 3 * kPage);
  arena->release(kLargePage, kLargePage + kPage);
  EXPECT_EQ(arena->in_use(), 0);
  EXPECT_EQ(arena->reserve(16 * kLargePage).value(), 0);
}

TEST(Arena, LargePiecesLieApartWhereThereIsRoom) {
  auto arena = Arena::make(16 * kLargePage).value();
  EXPECT_EQ(arena->reserve(4 * kLargePage).value(), 0);
  EXPECT_EQ(arena->reserve(4 * kLargePage).value(), 5 * kLargePage);
  EXPECT_EQ(arena->reserve(7 * kLargePage).value(), 9 * kLargePage);  // there is no more room
  EXPECT_EQ(arena->reserve(kLargePage).value(), 4 * kLargePage);
  EXPECT_FALSE(arena->reserve(kPage).ok());
}

TEST(Arena, ItsSizeIsSealed) {
  auto arena = Arena::make(4 * kPage).value();
  EXPECT_NE(ftruncate(arena->descriptor(), 0), 0);
  EXPECT_NE(ftruncate(arena->descriptor(), 8 * kPage), 0);
  EXPECT_TRUE(check_shared(arena->descriptor(), 4 * kPage).ok());
  EXPECT_FALSE(check_shared(arena->descriptor(), 8 * kPage).ok());
  EXPECT_FALSE(check_shared(-1, kPage).ok());
  const base::Descriptor open(memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(open.get(), kPage), 0);
  EXPECT_FALSE(check_shared(open.get(), kPage).ok());
}

class BuffersTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kBytes = 40 * kPage + 123;
  std::unique_ptr<Arena> arena = Arena::make(256 * kPage).value();
  Buffers buffers{*arena};

  // Writes `rows` of the back as a worker would, commits, and compares the whole buffer with what it must show.
  void commit_and_compare(Buffers::Buffer& buffer, const std::vector<Buffers::Rows>& rows, unsigned char value) {
    std::vector<std::byte> expected(buffer.address, buffer.address + buffer.bytes);
    ASSERT_TRUE(buffers.prepare(buffer).ok());
    std::byte* back = arena->at(buffer.half[static_cast<std::size_t>(1 - buffer.front)]);
    std::memset(back, 0xdd, static_cast<std::size_t>(buffer.capacity));  // what an earlier call may have left
    for (const Buffers::Rows& r : rows)
      for (std::int64_t i = 0; i < r.count; ++i) {
        std::memset(back + r.begin + i * r.pitch, value, static_cast<std::size_t>(r.bytes));
        std::memset(expected.data() + r.begin + i * r.pitch, value, static_cast<std::size_t>(r.bytes));
      }
    EXPECT_NE(std::memcmp(buffer.address, expected.data(), expected.size()), 0);  // not yet
    const int front = buffer.front;
    std::int64_t written = 0;
    for (const Buffers::Rows& r : rows) written += r.count * r.bytes;
    buffers.commit(buffer, rows);
    if (written < buffer.bytes) {
      EXPECT_EQ(buffer.front, front);  // a byte that another thread may store to stays the same byte
    }
    EXPECT_EQ(std::memcmp(buffer.address, expected.data(), expected.size()), 0);
  }
};

TEST_F(BuffersTest, AWholeBufferIsFlippedAndKeepsItsAddress) {
  void* memory = buffers.allocate(kBytes).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  Buffers::Buffer& buffer = *buffers.find(memory, kBytes);
  for (unsigned char value = 1; value < 6; ++value) {
    const int front = buffer.front;
    commit_and_compare(buffer, {{0, kBytes, 1, 0}}, value);
    EXPECT_EQ(buffer.front, 1 - front);
    EXPECT_EQ(buffer.address, memory);
  }
  buffers.release(memory);
  EXPECT_EQ(arena->in_use(), 0);
}

TEST_F(BuffersTest, BytesBesideWhatWasWrittenStay) {
  void* memory = buffers.allocate(kBytes).value();
  Buffers::Buffer& buffer = *buffers.find(memory, kBytes);
  std::memset(memory, 0x11, kBytes);
  commit_and_compare(buffer, {{1000, 30 * kPage, 1, 0}}, 0x22);
  commit_and_compare(buffer, {{3, 10, 1, 0}}, 0x33);
  commit_and_compare(buffer, {{8, 900, 100, 1000}}, 0x44);
  commit_and_compare(buffer, {{100, 600, 160, 1000}, {700, 390, 160, 1000}}, 0x55);  // interleaved rows
  commit_and_compare(buffer, {{100000, 50000, 1, 0}, {0, 90000, 1, 0}}, 0x66);       // not in order
  commit_and_compare(buffer, {{0, kBytes - 1, 1, 0}}, 0x77);                         // all but a byte
}

TEST_F(BuffersTest, OutputsThatCoverABufferTogetherFlipIt) {
  void* memory = buffers.allocate(100 * 1000).value();
  Buffers::Buffer& buffer = *buffers.find(memory, 1);
  commit_and_compare(buffer, {{600, 400, 100, 1000}, {0, 600, 100, 1000}}, 0x22);
  EXPECT_EQ(buffer.front, 1);
  commit_and_compare(buffer, {{50000, 50000, 1, 0}, {0, 50000, 1, 0}}, 0x33);
  EXPECT_EQ(buffer.front, 0);
}

TEST_F(BuffersTest, OnlyWhatLiesInABufferAsAWholeIsFound) {
  auto* first = static_cast<std::byte*>(buffers.allocate(kPage).value());
  auto* second = static_cast<std::byte*>(buffers.allocate(100).value());
  EXPECT_EQ(buffers.find(first, kPage)->address, first);
  EXPECT_EQ(buffers.find(first + 96, kPage - 96)->address, first);
  EXPECT_EQ(buffers.find(first + 96, kPage), nullptr);
  EXPECT_EQ(buffers.find(second + 50, 50)->address, second);
  EXPECT_EQ(buffers.find(second + 50, 51), nullptr);
  EXPECT_EQ(buffers.find(&second, 1), nullptr);
}

TEST_F(BuffersTest, CommitsInRandomOrderShowWhatAPlainArrayWould) {
  std::mt19937 random(7);
  const auto upto = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  std::vector<void*> memory;
  for (int i = 0; i < 3; ++i) {
    memory.push_back(buffers.allocate(kBytes).value());
    std::memset(memory.back(), i, kBytes);
  }
  for (int step = 0; step < 300; ++step) {
    Buffers::Buffer& buffer = *buffers.find(memory[static_cast<std::size_t>(upto(3))], kBytes);
    const std::int64_t begin = upto(kBytes - 1), bytes = 1 + upto(kBytes - begin);
    commit_and_compare(buffer, {{begin, bytes, 1, 0}}, static_cast<unsigned char>(0x80 + step % 64));
  }
}

TEST(Buffers, NothingStaysMapped) {
  const Held before = Held::now();
  {
    auto arena = Arena::make(64 * kPage).value();
    Buffers buffers(*arena);
    for (int i = 0; i < 5; ++i) static_cast<void>(buffers.allocate(kPage).value());
    EXPECT_GT(Held::now().shared_mappings, before.shared_mappings);
  }
  EXPECT_EQ(Held::after(before), before);
}

}  // namespace
}  // namespace tokitai::server

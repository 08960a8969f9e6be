// Files that are none are refused, and nothing is waited for.
#include "base/files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "base/library.h"
#include "base/sha256.h"

namespace tokitai::base {
namespace {

namespace fs = std::filesystem;

class OddFiles : public ::testing::Test {
 protected:
  void SetUp() override { ::alarm(30); }  // who waits for a FIFO waits for ever
  void TearDown() override { ::alarm(0); }

  fs::path odd(const char* kind) {
    const fs::path path = temporary_->path() / kind;
    const std::string name = kind;
    if (name == "fifo") {
      EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    if (name == "folder") fs::create_directory(path);
    if (name == "loop") fs::create_symlink(path, path);
    if (name == "device") fs::create_symlink("/dev/zero", path);
    if (name == "socket") {
      const Descriptor made(::socket(AF_UNIX, SOCK_STREAM, 0));
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
      EXPECT_EQ(::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    return path;
  }

 private:
  Result<TemporaryFolder> temporary_ = TemporaryFolder::make();
};

TEST_F(OddFiles, AreRefusedAndNotWaitedFor) {
  for (const char* kind : {"fifo", "folder", "loop", "device", "socket", "absent"}) {
    const fs::path path = odd(kind);
    EXPECT_FALSE(open_regular(path).ok()) << kind;
    EXPECT_FALSE(read_file(path).ok()) << kind;
    EXPECT_FALSE(read_own_file(path).ok()) << kind;
    EXPECT_FALSE(sha256_of_file(path).ok()) << kind;
    std::string why;
    EXPECT_EQ(open_library(path.string(), why), nullptr) << kind;
    EXPECT_NE(why.find(path.string()), std::string::npos) << why;
  }
}

TEST_F(OddFiles, NoMoreIsReadThanWasAskedFor) {
  const fs::path path = odd("file");
  ASSERT_TRUE(write_file(path, "12345").ok());
  EXPECT_EQ(read_file(path, 5).value(), "12345");
  EXPECT_NE(read_file(path, 4).status().message().find("it has 5 bytes; at most 4 are read"), std::string::npos);
  ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);  // sparse: larger than memory, and no bytes on the disk
  EXPECT_FALSE(read_file(path).ok());
  // A file of the kernel's says that it has no bytes, and has some.
  EXPECT_GT(read_file("/proc/self/status").value().size(), 100u);
  EXPECT_FALSE(read_file("/proc/self/status", 10).ok());
}

}  // namespace
}  // namespace tokitai::base

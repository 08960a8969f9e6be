// The place a server listens at: whoever starts there takes turns, nobody else can hold them up, and nothing is left
// there afterwards.
#include "server/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>
#include <future>
#include <optional>

#include "server/tests/processes.h"

namespace tokitai::server {
namespace {

using namespace std::chrono_literals;

class Socket : public ::testing::Test {
 protected:
  Socket() { std::filesystem::create_directory(folder); }
  ~Socket() override { std::filesystem::remove_all(folder); }

  // What a server that was killed leaves.
  void leave_a_dead_one() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const Descriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  Descriptor held(const std::filesystem::path& file, int flags) const {
    Descriptor lock(::open(file.c_str(), flags | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(lock.get(), LOCK_EX), 0);
    return lock;
  }
  static std::string told(const Result<Listener>& made) { return made.ok() ? "" : made.status().message(); }

  const std::filesystem::path folder = testing::TempDir() + "tokitai-folder-" + std::to_string(::getpid());
  const std::filesystem::path path = folder / "socket";
};

TEST_F(Socket, ALockOnItsFolderHoldsNobodyUp) {
  Descriptor lock = held(folder, O_RDONLY | O_DIRECTORY);
  auto served = std::async(std::launch::async, [&] {
    auto made = Listener::make(path);
    if (made.ok()) made->close();
    return told(made);
  });
  EXPECT_EQ(served.wait_for(20s), std::future_status::ready);
  lock.close();
  EXPECT_EQ(served.get(), "");
  EXPECT_TRUE(entries(folder).empty());
}

TEST_F(Socket, OneWhoseTurnDoesNotComeIsTold) {
  Descriptor lock = held(path.string() + ".lock", O_RDWR | O_CREAT);
  auto made = std::async(std::launch::async, [&] { return Listener::make(path, 100ms).status(); });
  EXPECT_EQ(made.wait_for(20s), std::future_status::ready);
  lock.close();
  const Status status = made.get();
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_EQ(status.message(), "socket " + path.string() +
                                  ": another server has been starting there for 0.1 s; it holds " + path.string() +
                                  ".lock");
  EXPECT_TRUE(Listener::make(path).ok());  // what one that was killed left is no harm
  EXPECT_TRUE(entries(folder).empty());
}

TEST_F(Socket, WhatIsNoLockOfOursIsRefused) {
  std::filesystem::create_directory(path.string() + ".lock");
  EXPECT_EQ(Listener::make(path).status().code(), Code::invalid);
  std::filesystem::remove(path.string() + ".lock");
  std::filesystem::create_symlink("/dev/null", path.string() + ".lock");
  EXPECT_EQ(Listener::make(path).status().code(), Code::invalid);
  std::filesystem::remove(path.string() + ".lock");
  if (::geteuid() != 0) GTEST_SKIP() << "needs the right to give a file to another user";
  { const Descriptor lock(::open((path.string() + ".lock").c_str(), O_RDWR | O_CREAT, 0666)); }
  ASSERT_EQ(::chown((path.string() + ".lock").c_str(), 65534, 65534), 0);
  const Status status = Listener::make(path).status();
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find(".lock is there already and is no server's lock"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Socket, AUsersFileOfTheLocksNameIsRefusedAndKept) {
  const std::filesystem::path file = path.string() + ".lock";
  for (const auto& [text, mode] : {std::pair("precious", 0600u), std::pair("precious", 0644u), std::pair("", 0644u)}) {
    std::ofstream(file) << text;
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    const Status status = Listener::make(path).status();
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_EQ(status.message(), file.string() +
                                    " is there already and is no server's lock, which is an empty file of this user "
                                    "with mode 600; it is left as it is");
    std::string found;
    std::getline(std::ifstream(file), found);
    EXPECT_EQ(found, text);
    EXPECT_EQ(entries(folder), std::vector<std::string>{"socket.lock"});
    std::filesystem::remove(file);
  }
}

// In a process of its own, for its umask.
TEST_F(Socket, AModeThatTheUmaskTookIsNamed) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::umask(0777);
    const Status status = Listener::make(path).status();
    ::_exit(status.code() == Code::invalid &&
                    status.message() == "socket " + path.string() +
                                            ": it was made with mode 0, and 600 is needed; does the umask take its "
                                            "owner's rights away?"
                ? 0
                : 1);
  }
  int how = -1;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  EXPECT_TRUE(entries(folder).empty());
}

// A dead socket lies there and many want its place: one gets it, and clients find that one.
TEST_F(Socket, OfManyThatStartAtOnceOneListens) {
  constexpr int kRounds = 50, kServers = 8;
  for (int round = 0; round < kRounds; ++round) {
    leave_a_dead_one();
    std::atomic<int> ready = 0, listening = 0;
    std::vector<std::thread> threads;
    std::vector<std::string> words(kServers);
    std::vector<std::optional<Listener>> all(kServers);
    for (std::size_t i = 0; i < kServers; ++i)
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < kServers) std::this_thread::yield();
        auto made = Listener::make(path);
        words[i] = told(made);
        if (!made.ok()) return;
        ++listening;
        all[i].emplace(std::move(made).value());
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(listening, 1);
    for (std::size_t i = 0; i < kServers; ++i)
      EXPECT_TRUE(all[i] || words[i].ends_with("listens at " + path.string() + " already")) << words[i];
    EXPECT_TRUE(connect_to(path, Clock::now() + 5s).ok());
    EXPECT_EQ(entries(folder), std::vector<std::string>{"socket"});
    all.clear();
    EXPECT_TRUE(entries(folder).empty());
  }
}

}  // namespace
}  // namespace tokitai::server

// A command's files appear together or not at all, whenever the disk is full and whenever a signal ends the process.
// The two system calls that every file passes through are this program's own: they fail, or are interrupted, at will.
#include "cli/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "cli/commands.h"

namespace {

// Of the process that asks for it: at which call of each what happens.
struct {
  int full_at = 0, syncs = 0;       // this fsync finds no room
  int interrupt_at = 0, calls = 0;  // the process gets this signal before this call of either
  int signal = 0;
} plan;

void count_call() {
  if (++plan.calls == plan.interrupt_at) ::kill(::getpid(), plan.signal);
}

}  // namespace

extern "C" int fsync(int descriptor) {
  count_call();
  if (++plan.syncs == plan.full_at) {
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  count_call();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace tokitai::cli {
namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() { fs::create_directories(folder_); }
  ~OutputFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  // Everything there, folders too.
  Contents contents() const {
    Contents all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      std::ifstream file(entry.path());
      std::string& text = all[fs::relative(entry.path(), folder_).string()];
      if (entry.is_regular_file()) text.assign(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  // What waitpid says of a process that does this there, with another thread beside it, as a device's are.
  int ending(const std::function<int()>& work) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const int nothing = ::open("/dev/null", O_RDWR);
      if (::chdir(folder_.c_str()) != 0 || nothing < 0) std::_Exit(99);
      for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
      std::thread([] { ::pause(); }).detach();
      std::_Exit(work());
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return status;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / fmt::format("output_files_{}", ::getpid());
};

int run_words(std::vector<const char*> words) {
  words.insert(words.begin(), "tokitai");
  return run_command(static_cast<int>(words.size()), words.data());
}

// Every command that writes several files, and how many.
TEST_F(OutputFiles, WhicheverFileThereIsNoRoomForNoneIsWritten) {
  const char* problem = "softmax.backward rows=2 cols=3";
  const std::vector<std::pair<std::vector<const char*>, int>> commands = {
      {{"gradients", "--problem", problem, "--json", "a.json", "--markdown", "b.md"}, 2},
      {{"accuracy", "--problem", problem, "--json", "a.json", "--markdown", "b.md"}, 2},
      {{"verify", "--problem", problem, "--no-figures", "--report", "new/report", "--json", "a.json"}, 4},
  };
  put("b.md", "old");
  const Contents before = contents();
  for (const auto& [words, files] : commands) {
    SCOPED_TRACE(words[0]);
    for (int at = 1; at <= files; ++at) {
      const int status = ending([&, &words = words] {
        plan = {.full_at = at};
        return run_words(words);
      });
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << at << ": " << status;
      EXPECT_EQ(contents(), before) << at;
    }
    const int status = ending([&words = words] { return run_words(words); });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_NE(contents(), before);
    for (const char* name : {"a.json", "new"}) fs::remove_all(path(name));
    put("b.md", "old");
  }
}

TEST_F(OutputFiles, ASignalLeavesAllFilesOrNone) {
  const Contents before = {{"a", "old"}, {"b", "old"}}, after = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  constexpr int kCalls = 6;  // an fsync and a rename of each
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    for (int at = 1; at <= kCalls; ++at) {
      SCOPED_TRACE(fmt::format("signal {} at call {}", signal, at));
      fs::remove(path("c"));
      for (const char* name : {"a", "b"}) put(name, "old");
      const int status = ending([&] {
        plan = {.interrupt_at = at, .signal = signal};
        return write_all({{"", path("a"), "1"}, {"", path("b"), "2"}, {"", path("c"), "3"}}).ok() ? 0 : 1;
      });
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
      EXPECT_EQ(contents(), at <= kCalls / 2 ? before : after);
    }
}

TEST_F(OutputFiles, ASignalThatIsIgnoredIsIgnoredThen) {
  const int status = ending([&] {
    std::signal(SIGHUP, SIG_IGN);
    plan = {.interrupt_at = 1, .signal = SIGHUP};
    return write_all({{"", path("a"), "1"}}).ok() ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contents(), (Contents{{"a", "1"}}));
}

// A process may have been killed amid its renames, on a file system without links: what it kept is all there is.
TEST_F(OutputFiles, WhatAnotherProcessKeptIsNotTouched) {
  const int status = ending([&] {
    put("a", "old");
    put(fmt::format(".tokitai-{}-0.old", ::getpid()), "kept");
    put(fmt::format(".tokitai-{}-1", ::getpid()), "begun");
    return write_all({{"", path("a"), "1"}}).ok() ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  std::multimap<std::string, int> texts;
  for (const auto& [name, text] : contents()) texts.emplace(text, 0);
  EXPECT_EQ(texts, (std::multimap<std::string, int>{{"1", 0}, {"begun", 0}, {"kept", 0}}));
}

}  // namespace
}  // namespace tokitai::cli

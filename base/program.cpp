#include "base/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/files.h"

namespace tokitai::base {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostOutput = 1 << 20;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

int spawn(const Process& process, int output, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawn_file_actions_addchdir_np(&actions, process.folder.c_str());
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);  // a group of its own, so that its children can be killed with it
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const auto arguments = pointers(process.command), variables = pointers(process.environment);
  const int error =
      posix_spawn(&child, process.command[0].c_str(), &actions, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads until every writer is gone. False: time is up.
bool drain(int pipe, Clock::time_point deadline, std::string& output) {
  char buffer[1 << 14];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{pipe, POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    const ssize_t got = ::read(pipe, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(buffer, std::min(static_cast<std::size_t>(got), kMostOutput - output.size()));
  }
}

// The child's state as waitpid gives it. False: time is up.
bool reap(pid_t child, Clock::time_point deadline, int& state) {
  for (;;) {
    const pid_t got = ::waitpid(child, &state, WNOHANG);
    if (got == child) return true;
    if (got < 0 && errno != EINTR) {  // the caller ignores SIGCHLD: how it ended cannot be known
      state = 0xff00;
      return true;
    }
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Result<Ended> run(const Process& process) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Status(Code::unavailable, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  pid_t child = 0;
  if (const int error = spawn(process, writer.get(), child); error != 0)
    return Status(Code::unavailable, fmt::format("cannot run {}: {}", process.command[0], std::strerror(error)));
  writer.close();

  Ended ended;
  int state = 0;
  const Clock::time_point deadline = Clock::now() + process.limit;
  if (!drain(reader.get(), deadline, ended.output) || !reap(child, deadline, state)) {
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {}
    return Status(Code::unavailable,
                  fmt::format("{} had not finished after {} s", process.command[0], process.limit.count()));
  }
  ended.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return ended;
}

std::filesystem::path find_program(std::string_view name) {
  const auto runs = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    std::error_code error;
    const auto path = std::filesystem::absolute(name, error);
    return !error && runs(path) ? path : std::filesystem::path();
  }
  const std::string folders = environment("PATH");
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', from), folders.size());
    const std::filesystem::path folder = folders.substr(from, end - from);
    if (folder.is_absolute() && runs(folder / name)) return folder / name;
    from = end + 1;
  }
  return {};
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace tokitai::base

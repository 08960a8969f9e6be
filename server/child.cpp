#include "server/child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/process.h"
#include "base/program.h"
#include "loader/hand_over.h"

// Where the programs of the installed package are. The package's CMake file puts one that knows into whatever is linked
// with a static library.
extern "C" __attribute__((weak)) const char* tokitai_programs() { return nullptr; }

namespace tokitai::server {
namespace {

namespace fs = std::filesystem;
constexpr int kWorkerSocket = 3, kWorkerOperators = 4;
constexpr std::chrono::seconds kDying(10);

// By number: the C library's header for these (2.36) declares them for C only.
int open_handle(pid_t process) { return static_cast<int>(::syscall(SYS_pidfd_open, process, 0)); }
void kill_by_handle(int handle) { ::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0); }

// Of the caller's descriptors the worker gets its socket, the operators that were loaded, and standard error; its
// signals are as a fresh process has them, and a group of its own keeps the terminal's interrupt from it.
int spawn(const fs::path& program, int socket, int operators, pid_t& process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
  if (operators >= 0) posix_spawn_file_actions_adddup2(&actions, operators, kWorkerOperators);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, (operators >= 0 ? kWorkerOperators : kWorkerSocket) + 1);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string name = program, parent = fmt::format("{}", ::getpid()), loaded = "loaded";
  std::array<char*, 4> arguments{name.data(), parent.data(), operators >= 0 ? loaded.data() : nullptr, nullptr};
  const int error = posix_spawn(&process, program.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string words(const siginfo_t& how) {
  if (how.si_pid == 0) return "ended";  // the caller's own waiting, or an ignored SIGCHLD, took the answer away
  if (how.si_code == CLD_EXITED) return fmt::format("ended with exit code {}", how.si_status);
  return fmt::format("was ended by signal {} ({})", how.si_status, ::strsignal(how.si_status));
}

bool runs(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Starter::Starter()
    : thread_([this] {
        std::unique_lock lock(mutex_);
        while (!leave_) {
          changed_.wait(lock, [this] { return leave_ || work_ != nullptr; });
          if (work_ == nullptr) continue;
          (*work_)();
          work_ = nullptr;
          changed_.notify_all();
        }
      }) {}
Starter::~Starter() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  changed_.notify_all();
  thread_.join();
}
void Starter::run(const std::function<void()>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  changed_.notify_all();
  changed_.wait(lock, [this] { return work_ == nullptr; });
}

Result<Child> Child::start(Starter& starter, const fs::path& program) {
  // A fork that had the worker's end would keep its death from being heard here.
  const auto no_fork = hold_forks();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Status(Code::unavailable, fmt::format("a socket for the worker: {}", std::strerror(errno)));
  Descriptor mine(ends[0]);
  const Descriptor its(ends[1]);
  const auto loaded = loader::loaded_folders();
  if (!loaded.ok()) return loaded.status();
  // Behind both places, so that nothing is put over it before it has its own.
  const Descriptor operators(loaded.value() ? ::fcntl(loaded->get(), F_DUPFD_CLOEXEC, kWorkerOperators + 1) : -1);
  if (loaded.value() && !operators)
    return Status(Code::unavailable, fmt::format("a descriptor for the worker: {}", std::strerror(errno)));
  Child child;
  int error = 0;
  starter.run([&] { error = spawn(program, its.get(), operators.get(), child.process_); });
  if (error != 0)
    return Status(Code::unavailable, fmt::format("cannot run {}: {}", program.string(), std::strerror(error)));
  child.handle_ = Descriptor(open_handle(child.process_));
  if (!child.handle_) {
    error = errno;
    ::kill(child.process_, SIGKILL);
    while (::waitpid(child.process_, nullptr, 0) < 0 && errno == EINTR) {}
    return Status(Code::unavailable, fmt::format("a handle of the worker's process: {}", std::strerror(error)));
  }
  child.channel_ = Channel(std::move(mine));
  return child;
}

bool Child::ended_within(std::chrono::milliseconds time) const {
  const auto deadline = Clock::now() + time;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{handle_.get(), POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0) return false;
  }
}

void Child::kill() const {
  if (handle_) kill_by_handle(handle_.get());
}

Result<std::string> Child::end(std::chrono::milliseconds patience, std::mutex* closing) {
  channel_.hang_up();
  bool killed = false;
  if (!ended_within(patience)) {
    kill();
    killed = true;
    if (!ended_within(kDying))
      return Status(Code::unavailable,
                    fmt::format("worker process {} does not end {} s after it was killed", process_, kDying.count()));
  }
  siginfo_t how{};
  while (::waitid(P_PIDFD, static_cast<id_t>(handle_.get()), &how, WEXITED) != 0 && errno == EINTR) {}
  {
    std::unique_lock<std::mutex> lock;
    if (closing != nullptr) lock = std::unique_lock(*closing);
    handle_.close();
  }
  return killed ? std::string("did not end by itself and was killed") : words(how);
}

void Child::abandon() {
  channel_.close();
  handle_.close();
}

Result<fs::path> worker_program() {
  constexpr const char* kName = "tokitai-worker";
  if (const std::string chosen = base::environment("TOKITAI_WORKER"); !chosen.empty()) {
    if (runs(chosen)) return fs::path(chosen);
    return Status(Code::unavailable, fmt::format("TOKITAI_WORKER names {}, which is no program", chosen));
  }
  std::vector<fs::path> folders;
  std::error_code error;
  if (const fs::path self = fs::read_symlink("/proc/self/exe", error); !error) folders.push_back(self.parent_path());
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void*>(&worker_program), &library) != 0 && library.dli_fname != nullptr)
    if (const fs::path file = fs::canonical(library.dli_fname, error); !error) {
      const fs::path place = file.parent_path();  // lib, or lib and a processor's name
      for (const fs::path& folder : {place, place.parent_path() / "bin", place.parent_path().parent_path() / "bin"})
        folders.push_back(folder);
    }
  if (const char* installed = tokitai_programs(); installed != nullptr) folders.emplace_back(installed);
  std::string looked;
  for (const fs::path& folder : folders) {
    if (runs(folder / kName)) return folder / kName;
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  if (const fs::path found = base::find_program(kName); !found.empty()) return found;
  return Status(Code::unavailable, fmt::format("worker devices need the program {}; it is not in {} nor in PATH, and "
                                               "TOKITAI_WORKER does not name it",
                                               kName, looked));
}

}  // namespace tokitai::server

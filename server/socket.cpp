#include "server/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace tokitai::server {
namespace {

namespace fs = std::filesystem;
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
constexpr std::chrono::milliseconds kAgain(5);

Status failed(std::string_view what, const fs::path& path, Code code = Code::unavailable) {
  return {code, fmt::format("socket {}: {}: {}", path.string(), what, std::strerror(errno))};
}

Result<sockaddr_un> address_of(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof address.sun_path || text.find('\0') != std::string::npos)
    return Status::invalid(fmt::format("a socket's path of {} bytes; it must have 1 to {}, none of them 0", text.size(),
                                       sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

int connect_once(int socket, const sockaddr_un& address) {
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

// Servers that start at one place take turns, by a lock on a file beside the socket that nobody but their user can
// open. Whoever has it removes it in the end; so one who gets a lock looks whether that is still the file of this name,
// and nobody takes a file that does not look like one of ours.
class Turn {
 public:
  static Result<Turn> take(const fs::path& path, std::chrono::milliseconds patience) {
    Turn turn(path.string() + ".lock");
    const auto deadline = Clock::now() + patience;
    for (;; std::this_thread::sleep_for(kAgain)) {
      constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
      Descriptor file(::open(turn.name_.c_str(), kFlags | O_CREAT | O_EXCL, kOwnerOnly));
      bool just_removed = false;
      if (file) {
        ::fchmod(file.get(), kOwnerOnly);  // whatever the umask took
      } else if (errno == EEXIST) {
        file = Descriptor(::open(turn.name_.c_str(), kFlags));
        just_removed = !file && errno == ENOENT;
      }
      struct stat ours{}, there{};
      if (!just_removed && (!file || ::fstat(file.get(), &ours) != 0))
        return failed("making " + turn.name_, path, Code::invalid);
      if (file && (ours.st_mode != (S_IFREG | kOwnerOnly) || ours.st_size != 0 || ours.st_uid != ::geteuid()))
        return Status::invalid(turn.name_ +
                               " is there already and is no server's lock, which is an empty file of this "
                               "user with mode 600; it is left as it is");
      if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::lstat(turn.name_.c_str(), &there) == 0 &&
          there.st_ino == ours.st_ino && there.st_dev == ours.st_dev) {
        turn.file_ = std::move(file);
        return turn;
      }
      if (Clock::now() >= deadline)
        return Status(Code::unavailable,
                      fmt::format("socket {}: another server has been starting there for {:g} s; it holds {}",
                                  path.string(), std::chrono::duration<double>(patience).count(), turn.name_));
    }
  }
  Turn(Turn&&) = default;
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (file_) ::unlink(name_.c_str());
  }

 private:
  explicit Turn(std::string name) : name_(std::move(name)) {}
  std::string name_;
  Descriptor file_;
};

// Whatever of that name may be replaced is gone afterwards.
Status make_room(const fs::path& path, const sockaddr_un& address) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return errno == ENOENT ? Status() : failed("looking", path);
  if (!S_ISSOCK(facts.st_mode) || facts.st_uid != ::geteuid())
    return Status::invalid(fmt::format("{} is there already and is {}", path.string(),
                                       S_ISSOCK(facts.st_mode) ? "another user's socket" : "no socket"));
  auto probe = new_socket();
  if (!probe.ok()) return probe.status();
  if (connect_once(probe->get(), address) != ECONNREFUSED)
    return Status::invalid(fmt::format("a server listens at {} already", path.string()));
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Status() : failed("removing what a dead server left", path);
}

}  // namespace

Result<Listener> Listener::make(const fs::path& path, std::chrono::milliseconds patience) {
  auto address = address_of(path);
  if (!address.ok()) return address.status();
  auto socket = new_socket();
  if (!socket.ok()) return socket.status();
  const auto turn = Turn::take(path, patience);
  if (!turn.ok()) return turn.status();
  if (Status s = make_room(path, address.value()); !s.ok()) return s;
  // The file takes the socket's own mode, so that there is no moment in which others could connect.
  struct stat facts{};
  if (::fchmod(socket->get(), kOwnerOnly) != 0 ||
      ::bind(socket->get(), reinterpret_cast<const sockaddr*>(&address.value()), sizeof(sockaddr_un)) != 0)
    return failed("making it", path, Code::invalid);
  Status status;
  if (::lstat(path.c_str(), &facts) != 0)
    status = failed("looking", path);
  else if ((facts.st_mode & 0777) != kOwnerOnly)
    status =
        Status::invalid(fmt::format("socket {}: it was made with mode {:o}, and {:o} is needed; does the umask "
                                    "take its owner's rights away?",
                                    path.string(), facts.st_mode & 0777, kOwnerOnly));
  else if (::listen(socket->get(), SOMAXCONN) != 0)
    status = failed("listening", path);
  if (!status.ok()) {
    ::unlink(path.c_str());
    return status;
  }
  return Listener(path, std::move(socket).value(), facts.st_ino);
}

// As long as it listens nobody takes its place, so this needs no turn.
void Listener::close() {
  if (!socket_) return;
  struct stat facts{};
  if (::lstat(path_.c_str(), &facts) == 0 && facts.st_ino == inode_) ::unlink(path_.c_str());
  socket_.close();
}

Result<Descriptor> new_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return Status(Code::unavailable, fmt::format("a socket: {}", std::strerror(errno)));
  return socket;
}

Status connect_to(int socket, const fs::path& path, Clock::time_point deadline) {
  auto address = address_of(path);
  if (!address.ok()) return address.status();
  for (;;) {
    const int error = connect_once(socket, address.value());
    if (error == 0) break;
    // EAGAIN: more clients wait to be taken than the system lets.
    if ((error != EAGAIN && error != EINTR) || Clock::now() >= deadline)
      return {Code::unavailable, fmt::format("no server at {}: {}", path.string(), std::strerror(error))};
    std::this_thread::sleep_for(kAgain);
  }
  return check_peer(socket);
}

Result<Descriptor> connect_to(const fs::path& path, Clock::time_point deadline) {
  auto socket = new_socket();
  if (!socket.ok()) return socket.status();
  if (Status s = connect_to(socket->get(), path, deadline); !s.ok()) return s;
  return socket;
}

Status check_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return {Code::unavailable, fmt::format("who is at the other end: {}", std::strerror(errno))};
  if (peer.uid != ::geteuid())
    return {Code::unavailable,
            fmt::format("the process at the other end has user {}, this one {}", peer.uid, ::geteuid())};
  return {};
}

}  // namespace tokitai::server

#include "server/server_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fork_descriptors.h"
#include "base/process.h"

namespace tokitai::server {
namespace {

constexpr std::chrono::seconds kConnecting(10);

}  // namespace

Status ServerConnection::connect() {
  let_go();  // where an earlier one did not come as far as the greeting
  {
    const auto no_fork = hold_forks();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return {Code::unavailable, fmt::format("a pipe for the server: {}", std::strerror(errno))};
    held_ = Descriptor(ends[0]);
    holding_ = Descriptor(ends[1]);
    auto socket = new_socket();
    if (!socket.ok()) return socket.status();
    keep_from_forks(holding_.get(), held_.get(), no_fork);
    keep_from_forks(socket->get(), held_.get(), no_fork);
    channel_ = Channel(std::move(socket).value());
  }
  Status status = connect_to(channel_.descriptor(), path_, Clock::now() + kConnecting);
  if (!status.ok()) hang_up();
  return status;
}

void ServerConnection::hang_up() {
  const auto no_fork = hold_forks();
  forget_kept(channel_.descriptor(), no_fork);
  channel_.hang_up();
}

void ServerConnection::let_go() {
  const auto no_fork = hold_forks();
  forget_kept(holding_.get(), no_fork);
  holding_.close();
}

std::vector<int> ServerConnection::descriptors() const { return {shared_, holding_.get()}; }

bool ServerConnection::released_within(std::chrono::milliseconds time) {
  let_go();
  const auto deadline = Clock::now() + time;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{held_.get(), 0, 0};  // POLLHUP comes unasked
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0) return false;
  }
}

Result<std::string> ServerConnection::end(std::chrono::milliseconds) {
  hang_up();
  if (released_within(patience_)) return "the connection to " + name() + " was lost";
  return Status(Code::unavailable,
                fmt::format("{} still holds the shared memory {:g} s after the connection ended; calls are refused "
                            "until it has let go",
                            name(), std::chrono::duration<double>(patience_).count()));
}

Status ServerConnection::unstick(Status stuck) {
  return released_within(std::chrono::milliseconds(0)) ? Status() : std::move(stuck);
}

}  // namespace tokitai::server

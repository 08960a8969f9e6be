#include "server/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tokitai::server {
namespace {

Status failed(std::string_view what) { return {Code::unavailable, std::string(what)}; }

void take_descriptors(msghdr& message, std::vector<Descriptor>* wanted) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(c) + i * sizeof(int), sizeof number);
      Descriptor one(number);
      if (wanted != nullptr && wanted->size() < kMostDescriptors) wanted->push_back(std::move(one));
    }
  }
}

}  // namespace

void Channel::hang_up() {
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
  socket_.close();
}

ssize_t receive_some(int socket, char* to, std::size_t bytes, std::vector<Descriptor>* wanted) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  iovec part{to, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count >= 0) take_descriptors(message, wanted);
  return count;
}

// An answer or the next call often comes at once, and a processor that has gone idle takes long to wake (a small call
// 107 us instead of 14 us on a virtual machine): so the first moments are spent looking, giving way to whoever can run,
// which may be the other side. Where others take the processor for long, sleeping is the faster way for a while.
bool Channel::comes_at_once(short events) {
  constexpr std::chrono::microseconds kLooking(50), kLong(200);
  constexpr int kAWhile = 64;
  if (asleep_ > 0) {
    --asleep_;
    return false;
  }
  const auto begin = Clock::now();
  auto now = begin;
  do {
    pollfd one{socket_.get(), events, 0};
    if (::poll(&one, 1, 0) > 0) return true;
    ::sched_yield();
    const auto before = now;
    now = Clock::now();
    if (now - before > kLong) asleep_ = kAWhile;
  } while (now - begin < kLooking);
  return false;
}

Status Channel::wait(short events, Clock::time_point deadline) {
  if (comes_at_once(events)) return {};
  for (;;) {
    int left = -1;
    if (deadline != kNoDeadline) {
      const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (milliseconds <= 0) return failed("no answer in time");
      left = static_cast<int>(std::min<std::int64_t>(milliseconds, 1 << 30));
    }
    pollfd one{socket_.get(), events, 0};
    const int ready = ::poll(&one, 1, left);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failed(fmt::format("poll: {}", std::strerror(errno)));
  }
}

Status Channel::send(Kind kind, std::uint32_t sequence, const std::string& body, Clock::time_point deadline,
                     std::span<const int> descriptors) {
  if (body.size() > kMostBody)
    return Status::invalid(fmt::format("a message of {} bytes; the most is {}", body.size(), kMostBody));
  auto header = encode(Header{kind, static_cast<std::uint32_t>(body.size()), sequence});
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  std::size_t sent = 0;
  while (sent < header.size() + body.size()) {
    iovec parts[2] = {{header.data(), header.size()}, {const_cast<char*>(body.data()), body.size()}};
    const std::size_t of_header = std::min(sent, header.size());
    parts[0] = {header.data() + of_header, header.size() - of_header};
    parts[1] = {const_cast<char*>(body.data()) + (sent - of_header), body.size() - (sent - of_header)};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (!descriptors.empty() && sent == 0) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
    }
    const ssize_t count = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0)
      sent += static_cast<std::size_t>(count);
    else if (errno == EAGAIN) {
      if (Status s = wait(POLLOUT, deadline); !s.ok()) return s;
    } else if (errno != EINTR) {
      return failed(fmt::format("send: {}", std::strerror(errno)));
    }
  }
  return {};
}

Status Channel::read(char* to, std::size_t bytes, Clock::time_point deadline, std::vector<Descriptor>* descriptors) {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t count = receive_some(socket_.get(), to + got, bytes - got, descriptors);
    if (count > 0) {
      got += static_cast<std::size_t>(count);
    } else if (count == 0) {
      ended_ = got == 0;
      return failed("the connection ended");
    } else if (errno == EAGAIN) {
      if (Status s = wait(POLLIN, deadline); !s.ok()) return s;
    } else if (errno != EINTR) {
      return failed(fmt::format("receive: {}", std::strerror(errno)));
    }
  }
  return {};
}

Result<Message> Channel::receive(Clock::time_point deadline, std::vector<Descriptor>* descriptors) {
  std::array<char, kHeaderBytes> bytes{};
  if (Status s = read(bytes.data(), bytes.size(), deadline, descriptors); !s.ok()) return s;
  auto header = decode_header({bytes.data(), bytes.size()});
  if (!header.ok()) return header.status();
  Message message{header.value(), std::string(header->length, '\0')};
  if (Status s = read(message.body.data(), message.body.size(), deadline, nullptr); !s.ok()) {
    ended_ = false;
    return s;
  }
  return message;
}

}  // namespace tokitai::server

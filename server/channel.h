// A socket that carries whole messages. A deadline bounds each of them; what goes wrong is a sentence.
#pragma once
#include <sys/socket.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "server/message.h"

namespace tokitai::server {

using base::Descriptor;
using Clock = std::chrono::steady_clock;
inline constexpr Clock::time_point kNoDeadline = Clock::time_point::max();

struct Message {
  Header header;
  std::string body;
};

// The most descriptors that come with one message: the shared memory, and what shows who still holds it.
inline constexpr std::size_t kMostDescriptors = 2;

class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}
  bool open() const { return static_cast<bool>(socket_); }
  int descriptor() const { return socket_.get(); }
  void close() { socket_.close(); }
  // Closes it so that the other side hears it, even where a fork of this process has the socket too.
  void hang_up();

  // `descriptors` travel with the message.
  Status send(Kind kind, std::uint32_t sequence, const std::string& body, Clock::time_point deadline,
              std::span<const int> descriptors = {});
  // Descriptors that came with the message are put into `descriptors`; where none is asked for, they are closed.
  Result<Message> receive(Clock::time_point deadline, std::vector<Descriptor>* descriptors = nullptr);
  // Whether the other side was gone before the first byte of a message, which is how a worker is told to end.
  bool ended() const { return ended_; }

 private:
  bool comes_at_once(short events);
  Status wait(short events, Clock::time_point deadline);
  Status read(char* to, std::size_t bytes, Clock::time_point deadline, std::vector<Descriptor>* descriptors);

  Descriptor socket_;
  bool ended_ = false;
  int asleep_ = 0;  // waits before it looks again
};

// One receive of at most that many bytes, without waiting: what recvmsg answers. Descriptors are put into `wanted`, at
// most kMostDescriptors of them; any other is closed.
ssize_t receive_some(int socket, char* to, std::size_t bytes, std::vector<Descriptor>* wanted);

}  // namespace tokitai::server

// A socket that carries whole messages. A deadline bounds each of them; what goes wrong is a sentence.
#pragma once
#include <chrono>
#include <string>

#include "compiler/files.h"
#include "server/message.h"

namespace tokitai::server {

using compiler::Descriptor;
using Clock = std::chrono::steady_clock;
inline constexpr Clock::time_point kNoDeadline = Clock::time_point::max();

struct Message {
  Header header;
  std::string body;
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}
  bool open() const { return static_cast<bool>(socket_); }
  void close() { socket_.close(); }

  // `descriptor` travels with the message where it is not -1.
  Status send(Kind kind, std::uint32_t sequence, const std::string& body, Clock::time_point deadline,
              int descriptor = -1);
  // A descriptor that came with the message is put into `descriptor`; where none is asked for, one is closed.
  Result<Message> receive(Clock::time_point deadline, Descriptor* descriptor = nullptr);
  // Whether the other side was gone before the first byte of a message, which is how a worker is told to end.
  bool ended() const { return ended_; }

 private:
  Status wait(short events, Clock::time_point deadline) const;
  Status read(char* to, std::size_t bytes, Clock::time_point deadline, Descriptor* descriptor);

  Descriptor socket_;
  bool ended_ = false;
};

}  // namespace tokitai::server

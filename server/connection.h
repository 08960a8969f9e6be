// One client of a server: what it is doing, what has come of its next message, what it has yet to read.
#pragma once
#include <memory>

#include "server/crew.h"
#include "server/inbox.h"

namespace tokitai::server {

struct Connection {
  enum class Doing { greeting, listening, waiting };

  Connection(std::uint64_t n, Descriptor s, std::uint32_t most_body)
      : number(n), socket(std::move(s)), inbox(most_body) {}

  const std::uint64_t number;
  Descriptor socket;
  Doing doing = Doing::greeting;
  Inbox inbox;
  std::vector<Descriptor> descriptors;  // that came with the message
  std::string out;                      // not sent yet
  std::uint32_t events = 0;             // what is waited for
  std::int64_t granted = 0;             // bytes of the message that is read or worked on
  Clock::time_point deadline = kNoDeadline;

  std::shared_ptr<const ClientMemory> memory;
  std::chrono::nanoseconds time{};  // for an attempt of a call
  Header question;                  // that waits for its answer
  Clock::time_point arrived;
};

// The latencies of the last calls.
class Latencies {
 public:
  void add(std::chrono::nanoseconds one);
  void fill(ServerState& state) const;

 private:
  static constexpr std::size_t kKept = 8192;
  std::vector<std::int64_t> microseconds_;
  std::size_t next_ = 0;
};

}  // namespace tokitai::server

// tokitai serve: a device for other processes, over a Unix socket. One thread reads and writes every connection and
// never waits for one of them; calls run in worker processes (crew.h). The server itself maps no client's memory.
//
// One call of each client is taken at a time, the next stays in its socket: so the queue has at most one call of each,
// taking it in order is taking turns, and a client that sends faster than it is served waits.
#pragma once
#include <filesystem>

#include "server/message.h"

namespace tokitai::server {

struct ServeOptions {
  std::filesystem::path socket;
  std::string device = "cpu";
  DeviceOptions device_options = {};  // call_seconds: the most an attempt of a call may take, whatever a client says
  int workers = 1;
  std::int64_t connections = 1024;
  std::int64_t message_bytes = 4 << 20;                // of one message
  std::int64_t waiting_bytes = 256 << 20;              // of all that are being read or wait
  std::int64_t mapped_bytes = std::int64_t{64} << 40;  // of all clients' memory; a process can address 128 TiB
  double message_seconds = 10;  // for a greeting, for a message once it has begun, for an answer to be read
  double drain_seconds = 10;    // for calls that wait or run when the server is told to stop
};

class Server {
 public:
  // Listens, and has a worker that has opened the device.
  static Result<std::unique_ptr<Server>> make(const ServeOptions& options);
  virtual ~Server() = default;
  // Until it was told to stop and every call that waited has been answered.
  virtual Status run() = 0;
  // From a signal's handler, another thread or before run(). A second time: at once.
  virtual void stop() = 0;
};

// What the server at that socket says of itself.
Result<ServerState> ask_state(const std::filesystem::path& socket, double seconds);

}  // namespace tokitai::server

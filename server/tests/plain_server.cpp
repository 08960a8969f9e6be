// A server in a process of its own that a test may kill: plain_server SOCKET.
#include "server/serve.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tokitai::server::ServeOptions options;
  options.socket = argv[1];
  options.device_options.threads = 2;
  auto server = tokitai::server::Server::make(options);
  return server.ok() && server.value()->run().ok() ? 0 : 1;
}

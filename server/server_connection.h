// A server as one that works for us: the machine of the devices unix:PATH asks it.
//
// A server that was lost may still have a worker that writes the shared memory. So the greeting carries a pipe's end
// beside the memory, held by whoever maps it: when our end says that nobody holds it any more, asking again is safe.
// The end that is sent and the connection are kept from forks: else one that lives on would hold the memory for a
// server that is gone, and the connection for a client that is.
#pragma once
#include "server/socket.h"
#include "server/supervisor.h"

namespace tokitai::server {

class ServerConnection : public Supervisor {
 public:
  // `patience`: how long a server that was lost may take to let go of the shared memory before calls are refused.
  ServerConnection(Hello hello, std::filesystem::path path, int shared,
                   std::chrono::milliseconds patience = std::chrono::seconds(10))
      : Supervisor(std::move(hello)), path_(std::move(path)), shared_(shared), patience_(patience) {}
  ~ServerConnection() override {
    hang_up();
    let_go();
  }
  void abandon() override { channel_.close(); }

 protected:
  Status connect() override;
  bool running() const override { return channel_.open(); }
  Channel& channel() override { return channel_; }
  std::vector<int> descriptors() const override;
  void greeted() override { let_go(); }
  Result<std::string> end(std::chrono::milliseconds patience) override;
  Status unstick(Status stuck) override;
  std::string name() const override { return "the server at " + path_.string(); }

 private:
  void hang_up();
  void let_go();  // of the end that is sent
  bool released_within(std::chrono::milliseconds time);

  const std::filesystem::path path_;
  const int shared_;
  const std::chrono::milliseconds patience_;
  Channel channel_;
  Descriptor held_, holding_;  // the end that tells, and the end that is sent
};

}  // namespace tokitai::server

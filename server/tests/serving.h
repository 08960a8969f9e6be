// A server in this process or in one of its own, and a client that speaks to it byte by byte.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <optional>
#include <thread>

#include "server/arena.h"
#include "server/serve.h"
#include "server/socket.h"
#include "server/tests/processes.h"

namespace tokitai::server {

inline ServeOptions serve_options() {
  setenv("TOKITAI_WORKER", TK_WORKER, 1);
  ServeOptions options;
  static int count = 0;
  options.socket = testing::TempDir() + "tokitai-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  options.device_options.threads = 2;
  return options;
}

// Serves in a thread of this process until it goes.
class Serving {
 public:
  explicit Serving(const ServeOptions& options = serve_options()) : path_(options.socket) {
    auto made = Server::make(options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    server_ = std::move(made).value();
    thread_ = std::thread([this] { status_ = server_->run(); });
  }
  ~Serving() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
    EXPECT_TRUE(status_.ok()) << status_.message();
    server_.reset();
  }
  Server& server() { return *server_; }
  const std::filesystem::path& path() const { return path_; }
  std::string device() const { return "unix:" + path_.string(); }
  ServerState state() const { return ask_state(path_, 10).value(); }

 private:
  std::filesystem::path path_;
  std::unique_ptr<Server> server_;
  Status status_;
  std::thread thread_;
};

// Serves in a process of its own, which may be killed.
class ServerProcess {
 public:
  explicit ServerProcess(const std::filesystem::path& socket) {
    std::string program = TK_PLAIN_SERVER, path = socket;
    std::array<char*, 3> arguments{program.data(), path.data(), nullptr};
    EXPECT_EQ(posix_spawn(&process_, program.c_str(), nullptr, nullptr, arguments.data(), environ), 0);
  }
  ~ServerProcess() { kill(SIGKILL); }
  int kill(int signal) {
    if (process_ == 0) return 0;
    int how = 0;
    ::kill(process_, signal);
    ::waitpid(process_, &how, 0);
    process_ = 0;
    return how;
  }

 private:
  pid_t process_ = 0;
};

// A client by hand. Each reads what the server says, and how the connection ends.
class RawClient {
 public:
  explicit RawClient(const std::filesystem::path& path) {
    auto socket = connect_to(path, Clock::now() + std::chrono::seconds(10));
    EXPECT_TRUE(socket.ok()) << socket.status().message();
    socket_ = std::move(socket).value();
  }
  int descriptor() const { return socket_.get(); }
  void say(std::string_view bytes) const {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Leaves the socket to a channel; nothing can be said by hand any more.
  Channel channel() { return Channel(std::move(socket_)); }

  // The words with which the server closes the connection; empty: it did not within that time.
  std::string goodbye(double seconds) {
    Channel channel(std::move(socket_));
    auto message = channel.receive(Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000)));
    if (!message.ok()) return message.status().message() == "no answer in time" ? "" : message.status().message();
    if (message->header.kind != Kind::goodbye) return "a message of another kind";
    auto told = decode_told(message->body);
    EXPECT_TRUE(told.ok());
    EXPECT_FALSE(channel.receive(Clock::now() + std::chrono::seconds(5)).ok());
    return told->status.message();
  }

 private:
  Descriptor socket_;
};

inline std::string bytes_of(const Header& header, std::string_view body = {}) {
  const auto bytes = encode(header);
  return std::string(bytes.data(), bytes.size()) + std::string(body);
}

inline Descriptor memory_of(std::int64_t bytes, int seals = F_SEAL_SHRINK) {
  Descriptor memory(::memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(memory.get(), bytes), 0);
  EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
  return memory;
}

}  // namespace tokitai::server

// The Unix socket that a server listens at: made so that nobody else can connect, found by clients, and both look who
// is at the other end.
#pragma once
#include <filesystem>

#include "server/channel.h"

namespace tokitai::server {

// Listens there, for its owner alone. A socket that a dead server left is replaced; one that answers is refused, and so
// is anything else of that name. Others that start there are waited for, as long as `patience`.
class Listener {
 public:
  static Result<Listener> make(const std::filesystem::path& path,
                               std::chrono::milliseconds patience = std::chrono::seconds(5));
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener() { close(); }
  int descriptor() const { return socket_.get(); }
  // Takes the socket's name away where it is still ours.
  void close();

 private:
  Listener(std::filesystem::path path, Descriptor socket, std::uint64_t inode)
      : path_(std::move(path)), socket_(std::move(socket)), inode_(inode) {}
  std::filesystem::path path_;
  Descriptor socket_;
  std::uint64_t inode_;
};

// A socket that is not connected, and its connection to the server there, which must be of the same user.
Result<Descriptor> new_socket();
Status connect_to(int socket, const std::filesystem::path& path, Clock::time_point deadline);
// Both.
Result<Descriptor> connect_to(const std::filesystem::path& path, Clock::time_point deadline);

// Good where the process at the other end has our user.
Status check_peer(int socket);

}  // namespace tokitai::server

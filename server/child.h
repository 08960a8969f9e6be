// A worker's process: started, told to end, killed where it does not, and always reaped.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "server/channel.h"

namespace tokitai::server {

// One thread that lives as long as the device and starts its workers. The system sends a worker the signal for its
// parent's death when the thread that started it ends, so that must not be whichever thread happened to call.
class Starter {
 public:
  Starter();
  ~Starter();
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;
  void run(const std::function<void()>& work);  // returns when it is done

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  bool leave_ = false;
  std::thread thread_;
};

class Child {
 public:
  Child() = default;
  static Result<Child> start(Starter& starter, const std::filesystem::path& program);
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;

  bool running() const { return static_cast<bool>(handle_); }
  pid_t process() const { return process_; }
  Channel& channel() { return channel_; }

  // Closes the channel and waits a little for the process to leave by itself; kills it where it does not. How it ended,
  // in words, or a status where not even killing ends it. Nothing is left of it then.
  // `closing` is held where its handle is closed.
  Result<std::string> end(std::chrono::milliseconds patience, std::mutex* closing = nullptr);
  void kill() const;  // does not wait
  void abandon();     // in a forked child: the process is another's

 private:
  bool ended_within(std::chrono::milliseconds time) const;

  pid_t process_ = 0;
  Descriptor handle_;
  Channel channel_;
};

// The program tokitai-worker: $TOKITAI_WORKER, or beside the running program or the library, or of the package that was
// linked, or in PATH.
Result<std::filesystem::path> worker_program();

}  // namespace tokitai::server

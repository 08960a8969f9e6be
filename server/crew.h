// A server's workers: calls wait in one queue, in the order they came, and whoever is free takes the next. Each worker
// is a process that one thread here supervises.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "server/supervisor.h"

namespace tokitai::server {

// The memory of one client. Workers are told its number; its descriptors go when nobody works in it any more.
struct ClientMemory {
  std::uint32_t number = 0;
  std::int64_t bytes = 0;
  std::vector<Descriptor> descriptors;
};

struct Job {
  std::uint64_t client = 0;
  Kind kind = Kind::call;  // or workspace
  std::string body;
  std::shared_ptr<const ClientMemory> memory;
  std::chrono::nanoseconds time{};  // for each attempt
};

struct Finished {
  std::uint64_t client = 0;
  std::string body;  // of the answer
  bool good = false;
};

class Crew {
 public:
  // Starts the first worker, whose greeting says whether the device can be opened. `finished` is called in a worker's
  // thread, whenever take_finished() has something new.
  static Result<std::unique_ptr<Crew>> make(const Hello& hello, const std::filesystem::path& program, int workers,
                                            std::function<void()> finished);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  const Welcome& welcome() const { return welcome_; }

  void add(Job job);
  // The client's job is not done any more. False: it does not wait; it is being done.
  bool withdraw(std::uint64_t client);
  void forget(std::uint32_t memory);
  std::vector<Finished> take_finished();
  // What is being done fails, and nothing more is.
  void leave();

  struct Counts {
    std::int64_t queued = 0, running = 0, restarts = 0;
  };
  Counts counts() const;

 private:
  struct Member {
    std::unique_ptr<WorkerProcess> process;
    std::map<std::uint32_t, int> attached;  // a memory's number, and which start of the process it was told to
    std::deque<std::uint32_t> forgotten;
    std::thread thread;
  };
  Crew() = default;
  void work(Member& member);
  std::string done(Member& member, const Job& job, bool& good);
  template <class T> Result<T> ask(Member& member, const Job& job, Kind wanted, Result<T> (*decode)(std::string_view));
  Status attach(Member& member, const ClientMemory& memory, Clock::time_point deadline, Status& refused);
  void detach(Member& member, std::uint32_t memory);

  Welcome welcome_;
  std::function<void()> finished_callback_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::vector<Finished> finished_;
  int running_ = 0;
  bool leave_ = false;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace tokitai::server

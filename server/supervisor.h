// Who works for us, behind a channel: asked, and replaced where it fails. A child process of our own, or a server's
// connection. Whatever it is, once it was ended nothing writes the shared memory any more, so that a question can be
// asked again.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "contract/registry.h"
#include "server/child.h"

namespace tokitai::server {

class Supervisor {
 public:
  explicit Supervisor(Hello hello) : hello_(std::move(hello)) {}
  virtual ~Supervisor() = default;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Good at once where it works already. `died`: one was started and lost, and another may do better.
  Status start(bool* died = nullptr);
  // In a fork: closes what there is, which belongs to another process. It does not notice.
  virtual void abandon() = 0;
  // How it greeted, and how often it was started.
  const Welcome& welcome() const { return welcome_; }
  int starts() const { return starts_; }

  // Whoever fails, while it starts too, is ended and replaced, and asked once more. `before` comes before every
  // attempt, with a deadline of its own; where it says `invalid` nothing is asked.
  template <class T>
  Result<T> ask(Kind question, Kind wanted, const std::string& body, std::chrono::nanoseconds time,
                Result<T> (*decode)(std::string_view), const std::function<Status(Clock::time_point)>& before) {
    std::string failures;
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (attempt > 0) failures += "; tried again, ";
      bool died = false;
      if (Status s = start(&died); died) {
        failures += s.message();
      } else if (!s.ok()) {
        return s;
      } else {
        Status failure = before(Clock::now() + time);
        if (failure.code() == Code::invalid) return failure;
        if (failure.ok()) {
          auto answered = exchange(question, wanted, body, Clock::now() + time, decode);
          if (answered.ok() || answered.status().code() == Code::invalid) return answered;
          failure = answered.status();
        }
        failures += lost(failure);
      }
      if (!stuck_.ok()) return stuck_;
      if (leaving_) break;
    }
    return Status(Code::unavailable, failures);
  }
  // Ends whoever works: after a good status nothing writes the shared memory any more.
  Status dismiss();
  // Something that is done and has no other answer; whoever fails is ended.
  void tell(Kind kind, const std::string& body, Clock::time_point deadline);
  // One question and its answer. `invalid`: the question is too long to be sent; else it has to be replaced.
  template <class T>
  Result<T> exchange(Kind question, Kind wanted, const std::string& body, Clock::time_point deadline,
                     Result<T> (*decode)(std::string_view), std::span<const int> descriptors = {}) {
    if (Status s = channel().send(question, ++sequence_, body, deadline, descriptors); !s.ok()) return s;
    auto answered = answer(wanted, deadline);
    if (!answered.ok()) return answered.status();
    auto decoded = decode(answered.value());
    if (!decoded.ok()) return Status(Code::unavailable, decoded.status().message());
    return decoded;
  }

 protected:
  virtual Status connect() = 0;
  virtual bool running() const = 0;
  virtual bool outdated() const { return false; }  // another would know what this one cannot
  virtual Channel& channel() = 0;
  virtual std::vector<int> descriptors() const = 0;  // that go with the greeting
  virtual void greeted() {}                          // they have been sent
  // How it ended, in words, or that it does not: then it may still write, and nothing more is asked of it.
  virtual Result<std::string> end(std::chrono::milliseconds patience) = 0;
  // What is still stuck of an earlier one.
  virtual Status unstick(Status stuck) { return stuck; }
  virtual std::string name() const = 0;

  std::atomic<bool> leaving_ = false;  // no second attempt

 private:
  Result<std::string> answer(Kind wanted, Clock::time_point deadline);
  std::string lost(const Status& failure);

  Hello hello_;
  Welcome welcome_;
  Status stuck_;
  std::uint32_t sequence_ = 0;
  std::atomic<int> starts_ = 0;
};

// A child process, which maps the memory `shared` where it is not -1.
class WorkerProcess : public Supervisor {
 public:
  WorkerProcess(Hello hello, std::filesystem::path program, int shared)
      : Supervisor(std::move(hello)), program_(std::move(program)), shared_(shared) {}
  ~WorkerProcess() override;
  void abandon() override { child_.abandon(); }
  // From another thread: the question that is being asked fails, and so does every later one.
  void leave();

 protected:
  Status connect() override;
  bool running() const override { return child_.running(); }
  // Operators were loaded after it was started.
  bool outdated() const override { return known_ != operator_count(); }
  Channel& channel() override { return child_.channel(); }
  std::vector<int> descriptors() const override;
  Result<std::string> end(std::chrono::milliseconds patience) override;
  std::string name() const override { return program_.string(); }

 private:
  const std::filesystem::path program_;
  const int shared_;
  std::size_t known_ = 0;  // operators
  Starter starter_;
  std::mutex mutex_;  // of child_, where it is made, ended or killed
  Child child_;
};

}  // namespace tokitai::server

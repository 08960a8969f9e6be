#include "server/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "server/child.h"
#include "server/operands.h"

namespace tokitai::server {
namespace {

constexpr double kCallSeconds = 600;
constexpr std::chrono::seconds kStarting(60);
constexpr std::chrono::milliseconds kPatience(2000);  // for a worker that was told to end
constexpr std::chrono::milliseconds kNoPatience(50);  // for one that failed: time to finish dying

class WorkerMachine : public Machine {
 public:
  WorkerMachine(Hello hello, std::chrono::nanoseconds deadline, std::filesystem::path program,
                std::unique_ptr<Arena> arena)
      : hello_(std::move(hello)),
        deadline_(deadline),
        program_(std::move(program)),
        arena_(std::move(arena)),
        buffers_(*arena_),
        staging_(*arena_) {}
  ~WorkerMachine() override {
    if (!ours()) {
      // In a fork the starter's thread is not there, and what it waits on could never be destroyed.
      static_cast<void>(starter_.release());
      child_.abandon();
    } else if (child_.running()) {
      static_cast<void>(child_.end(kPatience));
    }
  }

  Status start() {
    if (!stuck_.ok()) return stuck_;
    auto child = Child::start(*starter_, program_);
    if (!child.ok()) return child.status();
    child_ = std::move(child).value();
    const auto deadline = Clock::now() + kStarting;
    Status failure = child_.channel().send(Kind::hello, ++sequence_, encode(hello_), deadline, arena_->descriptor());
    if (failure.ok()) {
      auto body = answer(Kind::welcome, deadline);
      auto welcome = body.ok() ? decode_welcome(body.value()) : Result<Welcome>(body.status());
      if (welcome.ok() && welcome->status.ok()) {
        threads_ = welcome->threads;
        description_ = fmt::format("{}, in a worker process", welcome->description);
        return {};
      }
      failure = welcome.ok() ? welcome->status : welcome.status();
      if (welcome.ok()) {  // it said why it cannot work: that is the answer
        const Status ended = replace();
        return ended.ok() ? failure : ended;
      }
    }
    return {Code::unavailable, fmt::format("{} did not start: {}", program_.string(), lost(failure))};
  }

  Status run(const Call& call, Outcome& outcome) override {
    if (!ours()) return forked();
    const std::lock_guard lock(mutex_);
    PlacedOperands operands(*arena_, buffers_, staging_);
    if (Status s = operands.place(call); !s.ok()) return named(call, s);
    auto reply = ask<Reply>(call, operands, Kind::call, Kind::answer, decode_reply);
    if (!reply.ok()) return reply.status();
    outcome = reply->outcome;
    if (reply->status.ok() && !outcome.skipped) operands.commit();
    outcome.host_bytes_copied += operands.bytes_copied();
    return reply->status;
  }

  Result<std::int64_t> workspace(const Call& call) const override {
    // Asking the worker changes nothing that can be seen here.
    auto& self = const_cast<WorkerMachine&>(*this);
    if (!ours()) return forked();
    const std::lock_guard lock(self.mutex_);
    PlacedOperands operands(*arena_, self.buffers_, self.staging_);
    if (Status s = operands.place(call); !s.ok()) return named(call, s);
    auto answer = self.ask<BytesNeeded>(call, operands, Kind::workspace, Kind::bytes_needed, decode_bytes_needed);
    if (!answer.ok()) return answer.status();
    if (!answer->status.ok()) return answer->status;
    return answer->bytes;
  }

  int threads() const override { return threads_; }
  std::string description() const override { return description_; }

  Result<void*> allocate(std::int64_t bytes) override {
    if (!ours()) return forked();
    return buffers_.allocate(bytes);
  }
  void release(void* memory, std::int64_t) override {
    if (ours()) buffers_.release(memory);
  }
  Result<DeviceMemory> memory() override {
    const std::lock_guard lock(mutex_);
    const std::int64_t used = arena_->in_use();
    return DeviceMemory{used - staging_.size(), staging_.size(), arena_->size() - used, arena_->size()};
  }
  Status trim() override {
    if (!ours()) return forked();
    const std::lock_guard lock(mutex_);
    staging_.trim();
    return {};
  }

 private:
  bool ours() const { return ::getpid() == owner_; }
  static Status forked() {
    return {Code::unavailable, "a worker device belongs to the process that opened it, not to a fork of it"};
  }
  static Status named(const Call& call, const Status& s) {
    return {s.code(), fmt::format("{}: {}", call.contract->name, s.message())};
  }

  // Until the worker has answered nothing that the caller can see was changed: so a worker that fails is replaced, and
  // the call tried once more.
  template <class T>
  Result<T> ask(const Call& call, PlacedOperands& operands, Kind question, Kind wanted,
                Result<T> (*decode)(std::string_view)) {
    const std::string body = encode(operands.call(), operands.places());
    std::string failures;
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!child_.running())
        if (Status s = start(); !s.ok()) return named(call, s);
      operands.bring();
      const auto deadline = Clock::now() + deadline_;
      Status failure = child_.channel().send(question, ++sequence_, body, deadline);
      if (failure.code() == Code::invalid) return named(call, failure);  // too long a list: no fault of the worker's
      if (failure.ok()) {
        auto answered = answer(wanted, deadline);
        auto decoded = answered.ok() ? decode(answered.value()) : Result<T>(answered.status());
        if (decoded.ok()) return decoded;
        failure = decoded.status();
      }
      failures += (attempt == 0 ? "" : "; tried again, ") + lost(failure);
      if (!stuck_.ok()) return named(call, stuck_);
    }
    return Status(Code::unavailable, fmt::format("{}: {}; nothing was changed", call.contract->name, failures));
  }

  Result<std::string> answer(Kind wanted, Clock::time_point deadline) {
    auto message = child_.channel().receive(deadline);
    if (!message.ok()) return message.status();
    if (message->header.kind != wanted || message->header.sequence != sequence_)
      return Status::invalid(fmt::format("an answer of kind {} to message {}, where kind {} to message {} was due",
                                         static_cast<int>(message->header.kind), message->header.sequence,
                                         static_cast<int>(wanted), sequence_));
    return std::move(message->body);
  }

  // Ends the worker that failed; what happened, in words.
  std::string lost(const Status& failure) {
    const pid_t process = child_.process();
    auto ended = child_.end(kNoPatience);
    if (!ended.ok()) stuck_ = ended.status();
    return fmt::format("worker process {} {} ({})", process, ended.ok() ? ended.value() : "does not end",
                       failure.message());
  }
  Status replace() {
    auto ended = child_.end(kPatience);
    if (!ended.ok()) stuck_ = ended.status();
    return stuck_;
  }

  const pid_t owner_ = ::getpid();
  const Hello hello_;
  const std::chrono::nanoseconds deadline_;
  const std::filesystem::path program_;
  const std::unique_ptr<Arena> arena_;
  std::mutex mutex_;  // one call at a time
  Buffers buffers_;
  Staging staging_;
  std::unique_ptr<Starter> starter_ = std::make_unique<Starter>();
  Child child_;
  Status stuck_;  // a worker that cannot be killed may still write: then this device works no more
  std::uint32_t sequence_ = 0;
  int threads_ = 1;
  std::string description_;
};

}  // namespace

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options) {
  const std::string inner(name.substr(name.find(':') + 1));
  if (inner.empty() || inner.starts_with("worker:"))
    return Status::invalid(fmt::format("device '{}'; after worker: comes the name of another device", name));
  if (!(options.call_seconds >= 0 && options.call_seconds < 1e9))
    return Status::invalid(
        fmt::format("call_seconds = {}; it must be in [0, 1e9) (0: {})", options.call_seconds, kCallSeconds));
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (options.shared_bytes < 0 || options.shared_bytes > memory)
    return Status::invalid(fmt::format("shared_bytes = {}; it must be in [0, {}], this machine's memory (0: all)",
                                       options.shared_bytes, memory));
  auto program = worker_program();
  if (!program.ok()) return program.status();
  const std::int64_t shared = whole_pages(options.shared_bytes > 0 ? options.shared_bytes : memory);
  auto arena = Arena::make(shared);
  if (!arena.ok()) return arena.status();
  const std::chrono::duration<double> seconds(options.call_seconds > 0 ? options.call_seconds : kCallSeconds);
  try {
    auto machine = std::make_shared<WorkerMachine>(Hello{inner, options, shared},
                                                   std::chrono::duration_cast<std::chrono::nanoseconds>(seconds),
                                                   std::move(program).value(), std::move(arena).value());
    if (Status s = machine->start(); !s.ok()) return s;
    return std::shared_ptr<Machine>(std::move(machine));
  } catch (const std::exception& problem) {  // std::system_error or std::bad_alloc
    return Status(Code::unavailable, fmt::format("a thread for the worker: {}", problem.what()));
  }
}

}  // namespace tokitai::server

#include "server/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <new>

#include "runtime/journal_keeper.h"
#include "runtime/machine.h"
#include "server/operands.h"
#include "server/placed_call.h"
#include "server/server_connection.h"

namespace tokitai::server {
namespace {

constexpr double kCallSeconds = 600;

class WorkerMachine : public Machine {
 public:
  // `supervisor` lends its arena's descriptor.
  WorkerMachine(std::unique_ptr<Arena> arena, std::unique_ptr<Supervisor> supervisor, std::chrono::nanoseconds time,
                std::string where)
      : arena_(std::move(arena)),
        buffers_(*arena_),
        staging_(*arena_),
        journal_(*arena_),
        supervisor_(std::move(supervisor)),
        time_(time),
        where_(std::move(where)) {}
  void leave_fork() override { supervisor_->abandon(); }

  Status start() { return supervisor_->start(); }

  Status run(const Call& call, Outcome& outcome) override {
    const std::lock_guard lock(mutex_);
    PlacedOperands operands(*arena_, buffers_, staging_, journal_room());
    if (Status s = operands.place(call); !s.ok()) return named(call, s);
    const std::string body = encode(operands.placed());
    bool lost = true;  // it was sent and has no answer
    Reply reply = guarded([&] {
      auto answer = ask<Reply>(call, operands, body, Kind::call, Kind::answer, decode_reply);
      lost = answer.status().code() == Code::unavailable;
      return answer.ok() ? answer.value() : Reply{answer.status(), {}};
    });
    if (lost || (!reply.status.ok() && operands.begun())) reply = settle(operands, body, reply.status);
    outcome = reply.outcome;
    if (reply.status.ok()) operands.commit(outcome.skipped);
    outcome.host_bytes_copied += operands.bytes_copied();
    return reply.status;
  }

  Result<std::int64_t> workspace(const Call& call) const override {
    // Asking the worker changes nothing that can be seen here.
    auto& self = const_cast<WorkerMachine&>(*this);
    const std::lock_guard lock(self.mutex_);
    PlacedOperands operands(*arena_, self.buffers_, self.staging_, self.journal_room());
    if (Status s = operands.place(call); !s.ok()) return named(call, s);
    auto answer = self.ask<BytesNeeded>(call, operands, encode(operands.placed()), Kind::workspace, Kind::bytes_needed,
                                        decode_bytes_needed);
    if (!answer.ok()) return answer.status();
    if (!answer->status.ok()) return answer->status;
    return answer->bytes;
  }

  int threads() const override { return supervisor_->welcome().threads; }
  std::string description() const override { return fmt::format("{}, {}", supervisor_->welcome().description, where_); }

  Result<void*> allocate(std::int64_t bytes) override { return buffers_.allocate(bytes); }
  void release(void* memory, std::int64_t) override { buffers_.release(memory); }
  Result<DeviceMemory> memory() override {
    const std::lock_guard lock(mutex_);
    const std::int64_t used = arena_->in_use(), kept = staging_.size() + journal_.memory.size();
    return DeviceMemory{used - kept, kept, arena_->size() - used, arena_->size()};
  }
  Status trim() override {
    const std::lock_guard lock(mutex_);
    staging_.trim();
    journal_.memory.trim();
    return {};
  }

 private:
  static Status named(const Call& call, const Status& s) {
    return {s.code(), fmt::format("{}: {}", call.contract->name, s.message())};
  }

  JournalRoom* journal_room() { return supervisor_->welcome().keeps_journal ? &journal_ : nullptr; }

  // Until there is an answer nothing that the caller can see was changed, or its journal says how far it is: so the
  // question may be asked twice.
  template <class T>
  Result<T> ask(const Call& call, PlacedOperands& operands, const std::string& body, Kind question, Kind wanted,
                Result<T> (*decode)(std::string_view)) {
    auto answer = supervisor_->ask<T>(question, wanted, body, time_, decode, [&](Clock::time_point) {
      operands.bring();
      return Status();
    });
    if (!answer.ok()) return named(call, answer.status());
    return answer;
  }

  // A call that has begun must not be left behind by an exception.
  template <class F> static Reply guarded(F attempt) {
    try {
      return attempt();
    } catch (const std::bad_alloc&) {
      return {{Code::unavailable, "out of memory"}, {}};
    }
  }

  // Nobody does the call any more. Where it has begun in place this process does the rest, by the plainest machine: not
  // before it is sure that nobody else writes. Only here is known what the caller sees, so only here it is said.
  Reply settle(const PlacedOperands& operands, const std::string& body, const Status& failed) {
    const auto told = [&](std::string_view what) {
      return Reply{{failed.code(), fmt::format("{}; {}", failed.message(), what)}, {}};
    };
    constexpr std::string_view kHalf = "what the call updates may be half updated";
    const bool ended = supervisor_->dismiss().ok();
    if (ended ? !operands.begun() : !operands.in_place()) return told("nothing was changed");
    if (!ended) return told(kHalf);
    Reply here = guarded([&] {
      Reply reply;
      reply.status = run_here(body, reply.outcome);
      return reply;
    });
    return here.status.ok() ? here : told(fmt::format("here: {}; {}", here.status.message(), kHalf));
  }
  Status run_here(const std::string& body, Outcome& outcome) {
    auto call = call_over(body, arena_->at(0), arena_->size());
    if (!call.ok()) return call.status();
    auto reference = open("reference");
    return reference.ok() ? run_behind(call->journal, reference.value(), call->call, outcome) : reference.status();
  }

  const std::unique_ptr<Arena> arena_;
  std::mutex mutex_;  // one call at a time
  Buffers buffers_;
  Staging staging_;
  JournalRoom journal_;
  const std::unique_ptr<Supervisor> supervisor_;
  const std::chrono::nanoseconds time_;
  const std::string where_;
};

Status check_options(std::string_view name, const DeviceOptions& options, std::int64_t memory) {
  if (!(options.call_seconds >= 0 && options.call_seconds < 1e9))
    return Status::invalid(
        fmt::format("call_seconds = {}; it must be in [0, 1e9) (0: {})", options.call_seconds, kCallSeconds));
  if (options.shared_bytes < 0 || options.shared_bytes > memory)
    return Status::invalid(fmt::format("shared_bytes = {}; it must be in [0, {}], this machine's memory (0: all)",
                                       options.shared_bytes, memory));
  if (name.starts_with("unix:") && (options.threads != 0 || options.plan != 0 || !options.isa.empty()))
    return Status::invalid(
        fmt::format("threads, plan and instruction set belong to the server's device, not to '{}'", name));
  return {};
}

// A server tries a call twice and has it wait before: that takes at most three times as long, and it says so itself.
constexpr int kServerTimes = 3;
constexpr std::chrono::seconds kServerPatience(5);

}  // namespace

Result<std::shared_ptr<Machine>> make_machine(std::unique_ptr<Arena> arena, std::unique_ptr<Supervisor> supervisor,
                                              std::chrono::nanoseconds time, std::string where) {
  auto machine = std::make_shared<WorkerMachine>(std::move(arena), std::move(supervisor), time, std::move(where));
  if (Status s = machine->start(); !s.ok()) return s;
  return std::shared_ptr<Machine>(std::move(machine));
}

Result<std::shared_ptr<Machine>> make_machine(std::string_view name, const DeviceOptions& options) {
  const bool remote = name.starts_with("unix:");
  std::string inner(name.substr(name.find(':') + 1));
  if (inner.empty() || inner.starts_with("worker:") || (!remote && inner.starts_with("unix:")))
    return Status::invalid(
        fmt::format("device '{}'; after {}", name,
                    remote ? "unix: comes the path of a server's socket" : "worker: comes the name of another device"));
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (Status s = check_options(name, options, memory); !s.ok()) return s;
  std::filesystem::path program;
  if (!remote) {
    auto found = worker_program();
    if (!found.ok()) return found.status();
    program = std::move(found).value();
  }
  const std::int64_t shared = whole_pages(options.shared_bytes > 0 ? options.shared_bytes : memory);
  auto arena = Arena::make(shared);
  if (!arena.ok()) return arena.status();
  const int descriptor = arena.value()->descriptor();
  const std::chrono::duration<double> seconds(options.call_seconds > 0 ? options.call_seconds : kCallSeconds);
  auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
  if (remote) time = kServerTimes * time + kServerPatience;
  try {
    std::unique_ptr<Supervisor> supervisor;
    if (remote)
      supervisor = std::make_unique<ServerConnection>(Hello{"", options, shared}, inner, descriptor);
    else
      supervisor = std::make_unique<WorkerProcess>(Hello{inner, options, shared}, program, descriptor);
    return make_machine(std::move(arena).value(), std::move(supervisor), time,
                        remote ? "of the server at " + inner : "in a worker process");
  } catch (const std::exception& problem) {  // std::system_error or std::bad_alloc
    return Status(Code::unavailable, fmt::format("a thread for the worker: {}", problem.what()));
  }
}

}  // namespace tokitai::server

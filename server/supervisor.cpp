#include "server/supervisor.h"

#include <fmt/format.h>

namespace tokitai::server {
namespace {

constexpr std::chrono::seconds kStarting(60);
constexpr std::chrono::milliseconds kPatience(2000);  // for one that was told to end
constexpr std::chrono::milliseconds kNoPatience(50);  // for one that failed: time to finish dying

}  // namespace

Status Supervisor::start(bool* died) {
  if (running() && !outdated()) return {};
  if (running()) {
    if (auto ended = end(kPatience); !ended.ok()) stuck_ = ended.status();
  }
  if (!stuck_.ok()) stuck_ = unstick(std::move(stuck_));
  if (!stuck_.ok()) return stuck_;
  if (Status s = connect(); !s.ok()) return s;
  ++starts_;
  const std::vector<int> sent = descriptors();
  auto welcome = exchange(Kind::hello, Kind::welcome, encode(hello_), Clock::now() + kStarting, decode_welcome, sent);
  greeted();
  if (!welcome.ok()) {
    if (died != nullptr) *died = true;
    return {Code::unavailable, fmt::format("{} did not start: {}", name(), lost(welcome.status()))};
  }
  if (!welcome->status.ok()) {  // it said why it cannot work: that is the answer
    auto ended = end(kPatience);
    if (!ended.ok()) stuck_ = ended.status();
    return stuck_.ok() ? welcome->status : stuck_;
  }
  welcome_ = std::move(welcome).value();
  return {};
}

Status Supervisor::dismiss() {
  if (stuck_.ok() && running()) static_cast<void>(lost({}));
  return stuck_;
}

void Supervisor::tell(Kind kind, const std::string& body, Clock::time_point deadline) {
  if (!running()) return;
  if (auto told = exchange(kind, Kind::done, body, deadline, decode_told); !told.ok())
    static_cast<void>(lost(told.status()));
}

Result<std::string> Supervisor::answer(Kind wanted, Clock::time_point deadline) {
  auto message = channel().receive(deadline);
  if (!message.ok()) return Status(Code::unavailable, message.status().message());
  if (message->header.kind == Kind::goodbye)
    if (auto told = decode_told(message->body); told.ok())
      return Status(Code::unavailable, fmt::format("it closed the connection: {}", told->status.message()));
  if (message->header.kind != wanted || message->header.sequence != sequence_)
    return Status(Code::unavailable,
                  fmt::format("an answer of kind {} to message {}, where kind {} to message {} was due",
                              static_cast<int>(message->header.kind), message->header.sequence,
                              static_cast<int>(wanted), sequence_));
  return std::move(message->body);
}

std::string Supervisor::lost(const Status& failure) {
  auto ended = end(kNoPatience);
  if (!ended.ok()) stuck_ = ended.status();
  return fmt::format("{} ({})", ended.ok() ? ended.value() : "it does not end", failure.message());
}

WorkerProcess::~WorkerProcess() {
  if (child_.running()) static_cast<void>(child_.end(kPatience));
}

void WorkerProcess::leave() {
  leaving_ = true;
  const std::lock_guard lock(mutex_);
  child_.kill();
}

Status WorkerProcess::connect() {
  if (leaving_) return {Code::unavailable, "the worker is being ended"};
  known_ = operator_count();
  auto child = Child::start(starter_, program_);
  if (!child.ok()) return child.status();
  const std::lock_guard lock(mutex_);
  child_ = std::move(child).value();
  if (leaving_) child_.kill();
  return {};
}

std::vector<int> WorkerProcess::descriptors() const {
  return shared_ >= 0 ? std::vector<int>{shared_} : std::vector<int>{};
}

Result<std::string> WorkerProcess::end(std::chrono::milliseconds patience) {
  const pid_t process = child_.process();
  auto ended = child_.end(patience, &mutex_);
  if (!ended.ok()) return ended.status();
  return fmt::format("worker process {} {}", process, ended.value());
}

}  // namespace tokitai::server
